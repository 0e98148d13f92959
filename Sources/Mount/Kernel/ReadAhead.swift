import Glibc
import Synchronization

/// Sets how far the kernel reads ahead in this mount.
///
/// The kernel proposes 128 KiB in INIT and accepts no more in the answer. Root may raise it
/// afterwards through sysfs; otherwise the proposal stays.
final class ReadAhead: Sendable {
    private let bytes: Int
    private let mountPoint: String
    private let isApplied = Atomic(false)

    init(bytes: Int, mountPoint: String) {
        self.bytes = bytes
        self.mountPoint = mountPoint
    }

    /// Call with every open, which is after INIT and before the first read.
    func applyOnce() {
        guard !isApplied.load(ordering: .relaxed),
            !isApplied.exchange(true, ordering: .relaxed)
        else { return }
        apply()
    }

    private func apply() {
        guard let mounts = readText("/proc/self/mountinfo"),
            let device = Self.device(of: mountPoint, in: mounts)
        else { return }
        let file = open("/sys/class/bdi/\(device)/read_ahead_kb", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        let text = "\(bytes / 1024)"
        write(file, text, text.utf8.count)
    }

    /// Returns the device number, as `major:minor`, of the topmost mount at a path.
    ///
    /// - Parameter mounts: The lines of `/proc/self/mountinfo`, see proc_pid_mountinfo(5).
    static func device(of mountPoint: String, in mounts: String) -> String? {
        let shown = escaped(mountPoint)
        let line = mounts.split(separator: "\n").last { line in
            line.split(separator: " ").dropFirst(4).first.map(String.init) == shown
        }
        return line?.split(separator: " ").dropFirst(2).first.map(String.init)
    }

    /// The path as the kernel writes it in mountinfo.
    private static func escaped(_ path: String) -> String {
        path.replacing("\\", with: #"\134"#).replacing(" ", with: #"\040"#)
            .replacing("\t", with: #"\011"#).replacing("\n", with: #"\012"#)
    }
}
