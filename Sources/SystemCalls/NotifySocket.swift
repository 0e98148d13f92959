import Glibc

/// The socket on which the service manager that has started this process receives its reports; see sd_notify(3).
package struct NotifySocket: Sendable {
    package static let variable = "NOTIFY_SOCKET"

    private let descriptor: Descriptor
    /// The name as the kernel takes it: a path, or a zero byte and an abstract name.
    private let name: [UInt8]

    /// - Parameter address: A path, or `@` and an abstract name.
    /// - Returns: nil for another kind of address.
    package init?(address: String) {
        var name = Array(address.utf8)
        switch name.first {
        case UInt8(ascii: "/"): name.append(0)
        case UInt8(ascii: "@"): name[0] = 0
        default: return nil
        }
        guard name.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let number = socket(AF_UNIX, kind, 0)
        guard number >= 0 else { return nil }
        descriptor = Descriptor(adopting: number)
        self.name = name
    }

    /// Sends fields such as `READY=1` in one datagram. A failure has no consequence: the manager is gone, or
    /// does not listen any more.
    package func send(_ fields: [String]) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = socklen_t(start + name.count)
        let message = Array(fields.joined(separator: "\n").utf8)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try? retryingInterrupts {
                    sendto(
                        descriptor.rawValue, message, message.count, Int32(MSG_NOSIGNAL),
                        address, length)
                }
            }
        }
    }
}
