import CLinux
import Glibc

/// The boundaries of a child process that handles untrusted data.
///
/// It has no network, writes no file, reads only its program, the libraries of the system and those in the
/// directories from which this process loads its own, and has limited memory. The kernel enforces this before the child's
/// first instruction. A kernel without Landlock does not restrict reading; see docs/decisions/019.
package struct Confinement: Sendable {
    /// nil if the kernel has no Landlock.
    private let ruleset: Descriptor?
    private let memoryBytesMax: UInt64

    /// Files and directories that libraries read as they start and work.
    private static let systemPaths = [
        "/usr", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom",
        "/sys/devices/system/cpu", "/proc/stat", "/proc/cpuinfo",
    ]

    /// - Parameters:
    ///   - program: The path of the program that will be confined.
    ///   - memoryBytesMax: Writable private memory; the child's allocations fail beyond it.
    package init(program: String, memoryBytesMax: UInt64) throws(SystemError) {
        self.memoryBytesMax = memoryBytesMax
        let ruleset = apus_landlock_create()
        guard ruleset >= 0 else {
            self.ruleset = nil
            return
        }
        let owned = Descriptor(adopting: ruleset)
        self.ruleset = owned
        for path in [program] + Self.systemPaths + (try Self.libraryDirectories()) {
            try Self.allowReading(path, in: owned)
        }
    }

    /// Whether the kernel keeps the child from files that it does not need.
    package var restrictsFiles: Bool { ruleset != nil }

    /// Starts a program that ends with the calling thread; the caller waits for it.
    ///
    /// - Parameters:
    ///   - path: The program.
    ///   - arguments: The first is its name.
    ///   - environment: `NAME=VALUE`.
    ///   - channel: A socket for its standard input, still owned by the caller. Its output is dropped.
    package func start(
        _ path: String, arguments: [String], environment: [String], channel: Int32
    ) throws(SystemError) -> Int32 {
        var process: pid_t = 0
        let error = withCStrings(arguments) { arguments in
            withCStrings(environment) { variables in
                apus_start_confined(
                    path, arguments, variables, channel, ruleset?.rawValue ?? -1,
                    memoryBytesMax, &process)
            }
        }
        guard error == 0 else { throw SystemError(error) }
        return process
    }

    /// Skips paths that do not exist.
    private static func allowReading(
        _ path: String, in ruleset: Descriptor
    ) throws(SystemError) {
        guard let file = try? Descriptor(opening: path, flags: apus_o_path) else { return }
        var status = stat()
        guard fstat(file.rawValue, &status) == 0 else { throw .last }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        guard apus_landlock_allow_reading(ruleset.rawValue, file.rawValue, isDirectory) == 0 else {
            throw .last
        }
    }

    /// The directories of the shared libraries that this process has loaded, wherever they are, and those in which
    /// the dynamic loader looks for others first. ld.so(8): `LD_LIBRARY_PATH`.
    private static func libraryDirectories() throws(SystemError) -> [String] {
        let maps = try Descriptor(opening: "/proc/self/maps", flags: O_RDONLY)
        var text: [UInt8] = []
        while case let piece = try PosixIO.readSome(maps.rawValue, countMax: 1 << 16),
            !piece.isEmpty
        {
            text += piece
        }
        var directories: Set<String> = []
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            guard let start = line.firstIndex(of: "/"), let end = line.lastIndex(of: "/"),
                line[end...].contains(".so")
            else { continue }
            directories.insert(String(line[start..<end]))
        }
        let others = getenv("LD_LIBRARY_PATH").map { String(cString: $0) } ?? ""
        directories.formUnion(others.split(separator: ":").map(String.init))
        return directories.sorted()
    }
}
