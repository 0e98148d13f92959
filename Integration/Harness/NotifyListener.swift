import Foundation
import Glibc
import Testing

/// The socket of a service manager, which receives reports; see sd_notify(3).
final class NotifyListener: Sendable {
    /// The value of `NOTIFY_SOCKET`.
    let address: String
    private let descriptor: Int32

    /// - Parameter directory: For a path that is not abstract, and for a name that is unique.
    init(below directory: String, isAbstract: Bool) throws {
        let path = "\(directory)/notify"
        address = isAbstract ? "@\(path)" : path
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = try CallError.check(socket(AF_UNIX, kind, 0), "socket")
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = isAbstract ? [0] + Array(path.utf8) : Array(path.utf8) + [0]
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let code = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length)
            }
        }
        try CallError.check(code, "bind \(address)")
    }

    deinit { close(descriptor) }

    /// Waits for a message that contains a text; those before it are dropped.
    @discardableResult
    func awaitMessage(
        _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        var received: [String] = []
        while let message = next(milliseconds: 60_000) {
            if message.contains(text) { return message }
            received.append(message)
        }
        Issue.record("no message with \(text), only \(received)", sourceLocation: sourceLocation)
        throw CallError(call: "receive \(text)", code: ETIMEDOUT)
    }

    /// Whether no message has come that was not waited for.
    var isSilent: Bool { next(milliseconds: 0) == nil }

    private func next(milliseconds: Int32) -> String? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}
