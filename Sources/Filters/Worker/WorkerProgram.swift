import Glibc
package import SystemCalls

/// The program that a batch starts as its workers, and the boundaries of each.
package struct WorkerProgram: Sendable {
    private let path: String
    private let name: String
    private let confinement: Confinement

    /// - Parameters:
    ///   - path: The program `apus-image-worker`.
    ///   - memoryBytesMax: See ``PictureLimits/memoryBytesMax``.
    package init(path: String, name: String, memoryBytesMax: UInt64) throws(SystemError) {
        self.path = path
        self.name = name
        confinement = try Confinement(program: path, memoryBytesMax: memoryBytesMax)
    }

    /// Starts a worker to see that it works, and ends it.
    ///
    /// - Returns: The version of libvips; nil if the worker does not start.
    package func probe(within limit: Duration) throws(SystemError) -> String? {
        let worker = try WorkerProcess(self, limits: PictureLimits())
        let version = worker.awaitStart(within: limit)
        worker.end()
        return version
    }

    /// Starts a worker that ends with the calling thread.
    ///
    /// - Returns: The process, and our end of the socket.
    func start() throws(SystemError) -> (process: Int32, socket: Descriptor) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .last }
        let ours = Descriptor(adopting: ends[0])
        let theirs = Descriptor(adopting: ends[1])
        let process = try confinement.start(
            path, arguments: [name], environment: Self.environment, channel: theirs.rawValue)
        return (process, ours)
    }

    /// The variables that the dynamic loader and libraries need; a trap is not to start a debugger.
    private static var environment: [String] {
        let kept = ["LD_LIBRARY_PATH", "LIBHEIF_PLUGIN_PATH", "LANG", "LC_ALL", "LC_MESSAGES"]
        let found = kept.compactMap { name in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        return found + ["SWIFT_BACKTRACE=enable=no"]
    }
}
