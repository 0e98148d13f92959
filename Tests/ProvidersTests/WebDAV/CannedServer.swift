import Foundation
import Glibc
import Synchronization

/// A server on 127.0.0.1 whose answers a test makes up, byte by byte: one for each connection.
final class CannedServer: Sendable {
    struct Request: Sendable {
        let method: String
        let path: String
        let headers: [String: String]
    }

    let port: UInt16
    private let listener: Int32
    private let answer: @Sendable (Request) -> String
    private let seen = Mutex<[Request]>([])
    private let ended = DispatchSemaphore(value: 0)

    var source: String { "webdav+http://127.0.0.1:\(port)/dav" }
    var requests: [Request] { seen.withLock { $0 } }

    /// Serves while `body` runs.
    static func with(
        _ answer: @escaping @Sendable (Request) -> String,
        _ body: (CannedServer) async throws -> Void
    ) async throws {
        let server = try CannedServer(answer)
        Thread.detachNewThread { server.serve() }
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        shutdown(server.listener, Int32(SHUT_RDWR))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                server.ended.wait()
                continuation.resume()
            }
        }
        close(server.listener)
        try result.get()
    }

    private init(_ answer: @escaping @Sendable (Request) -> String) throws {
        self.answer = answer
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
    }

    private func serve() {
        while case let connection = accept(listener, nil, nil), connection >= 0 {
            if let request = read(connection) {
                seen.withLock { $0.append(request) }
                send(answer(request), to: connection)
            }
            // Whatever the client still sends is taken, so that it can read the answer.
            shutdown(connection, Int32(SHUT_WR))
            var rest = [UInt8](repeating: 0, count: 4_096)
            while recv(connection, &rest, rest.count, 0) > 0 {}
            close(connection)
        }
        ended.signal()
    }

    private func read(_ connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let end = Array("\r\n\r\n".utf8)
        var text = ""
        repeat {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer.prefix(count)
            text = String(decoding: bytes, as: UTF8.self)
        } while !text.contains("\r\n\r\n") && bytes.count > end.count
        let lines = text.components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ")
        guard parts.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst().prefix(while: { !$0.isEmpty }) {
            let name = line.prefix { $0 != ":" }
            headers[name.lowercased()] = line.dropFirst(name.count + 2).description
        }
        return Request(method: String(parts[0]), path: String(parts[1]), headers: headers)
    }

    private func send(_ text: String, to connection: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
