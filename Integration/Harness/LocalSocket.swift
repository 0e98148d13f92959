import Glibc
import Synchronization

/// TCP on 127.0.0.1. The caller closes the descriptors that it is given.
enum LocalSocket {
    /// Ports of this process that were not given to a server yet.
    private static let unused = Mutex<Range<UInt16>>(0..<0)

    /// Below the ports that the kernel gives to connections, so that no program gets one of them by
    /// chance while the server on it is down.
    private static let blocks: [Range<UInt16>] = stride(from: 10_000, to: 32_000, by: 500).map {
        $0..<($0 + 500)
    }

    /// Returns ports on which no server listens. None is given twice: a server needs a while to
    /// listen on its port.
    static func freePorts(_ count: Int) throws(CallError) -> [UInt16] {
        try unused.withLock { unused throws(CallError) in
            var ports: [UInt16] = []
            while ports.count < count {
                if unused.isEmpty { unused = try claimBlock() }
                let port = unused.removeFirst()
                do throws(CallError) {
                    close(try bound(to: port))
                    ports.append(port)
                } catch  where error.code == EADDRINUSE {
                    continue
                }
            }
            return ports
        }
    }

    /// Returns ports that belong to this process alone until it ends, since other processes of tests
    /// run beside it.
    ///
    /// The claim is a socket with an abstract name, which the kernel removes with the process.
    private static func claimBlock() throws(CallError) -> Range<UInt16> {
        for block in blocks.shuffled() {
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let claim = try CallError.check(socket(AF_UNIX, kind, 0), "socket")
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) {
                $0.dropFirst().copyBytes(from: "apus-test-ports-\(block.lowerBound)".utf8)
            }
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(claim, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if code == 0 { return block }
            close(claim)
        }
        throw CallError(call: "claim ports", code: EADDRINUSE)
    }

    static func listen(_ port: UInt16) throws(CallError) -> Int32 {
        let descriptor = try bound(to: port)
        try CallError.check(Glibc.listen(descriptor, 64), "listen")
        return descriptor
    }

    static func connect(_ port: UInt16) throws(CallError) -> Int32 {
        let descriptor = try open()
        let code = withAddress(port) { Glibc.connect(descriptor, $0, $1) }
        guard code == 0 else {
            let error = CallError(call: "connect", code: errno)
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Whether a server listens on a port.
    static func answers(_ port: UInt16) -> Bool {
        guard let descriptor = try? connect(port) else { return false }
        close(descriptor)
        return true
    }

    private static func open() throws(CallError) -> Int32 {
        // Programs that are started in another thread must not inherit it.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return try CallError.check(socket(AF_INET, kind, 0), "socket")
    }

    private static func bound(to port: UInt16) throws(CallError) -> Int32 {
        let descriptor = try open()
        var yes: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        do throws(CallError) {
            try CallError.check(withAddress(port) { bind(descriptor, $0, $1) }, "bind")
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
