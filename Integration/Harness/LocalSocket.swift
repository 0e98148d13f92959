import Glibc
import Synchronization

/// TCP on 127.0.0.1. Whoever gets a descriptor closes it.
enum LocalSocket {
    private static let given = Mutex<Set<UInt16>>([])

    /// Ports that nobody listens on; all are held until the last is found, so they differ.
    ///
    /// They are below those that the kernel gives to connections, so that no program gets one by
    /// chance while the server on it is down. None is given twice: a server takes a while to take its own.
    static func freePorts(_ count: Int) throws(CallError) -> [UInt16] {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        var ports: [UInt16] = []
        var attempts = 0
        while ports.count < count {
            let port = UInt16.random(in: 10_000..<32_000)
            attempts += 1
            guard given.withLock({ $0.insert(port).inserted }) else { continue }
            do throws(CallError) {
                descriptors.append(try bound(to: port))
                ports.append(port)
            } catch  where error.code == EADDRINUSE && attempts < 1_000 {
                continue
            }
        }
        return ports
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

    /// Whether somebody listens there.
    static func answers(_ port: UInt16) -> Bool {
        guard let descriptor = try? connect(port) else { return false }
        close(descriptor)
        return true
    }

    private static func open() throws(CallError) -> Int32 {
        // No program that is started meanwhile is to inherit it.
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
