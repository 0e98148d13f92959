import Glibc
import Synchronization

/// How far the kernel reads ahead in this mount.
///
/// The kernel proposes 128 KiB when it greets the session and takes no more from the answer. Root
/// may raise it afterwards through sysfs; where that is not possible the proposal stays.
final class ReadAhead: Sendable {
    private let bytes: Int
    private let mountPoint: String
    private let isApplied = Atomic(false)

    init(bytes: Int, mountPoint: String) {
        self.bytes = bytes
        self.mountPoint = mountPoint
    }

    /// Called with every open, which is after the greeting and before the first read.
    func applyOnce() {
        guard !isApplied.load(ordering: .relaxed),
            !isApplied.exchange(true, ordering: .relaxed)
        else { return }
        apply()
    }

    private func apply() {
        guard let mount = MountTable.current().entry(at: mountPoint),
            let file = fopen("/sys/class/bdi/\(mount.device)/read_ahead_kb", "w")
        else { return }
        fputs("\(bytes / 1024)", file)
        fclose(file)
    }
}
