import Foundation
import Synchronization

/// A server on 127.0.0.1, or on a Unix socket, that runs a script of a test: one blocking thread per connection.
package final class ScriptedServer: Sendable {
    package typealias Script = @Sendable (ServedRequest, ServedConnection) throws -> Void

    private struct State {
        var connections: [ServedConnection] = []
        var requests: [ServedRequest] = []
        var isStopped = false
    }

    package let port: UInt16
    private let listener: Int32
    private let script: Script
    private let threads = DispatchGroup()
    /// Free places for connections; nil for any number.
    private let places: DispatchSemaphore?
    private let state = Mutex(State())

    /// Serves requests by `script` while `body` runs.
    ///
    /// - Parameters:
    ///   - path: The path of a Unix socket to make.
    ///   - connectionsMax: While as many connections are open, others wait for the end of one.
    package static func run<Value>(
        at path: String? = nil, connectionsMax: Int? = nil, _ script: @escaping Script,
        _ body: (ScriptedServer) async throws -> Value
    ) async throws -> Value {
        let server = try ScriptedServer(at: path, connectionsMax, script)
        let result: Result<Value, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        await server.stop()
        return try result.get()
    }

    private init(at path: String?, _ connectionsMax: Int?, _ script: @escaping Script) throws {
        self.script = script
        // A semaphore must not end with less than it began.
        places = connectionsMax.map { _ in DispatchSemaphore(value: 0) }
        for _ in 0..<(connectionsMax ?? 0) { places?.signal() }
        if let path {
            port = 0
            listener = try Self.unixListener(at: path)
            start { $0.accept() }
            return
        }
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 128) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        start { $0.accept() }
    }

    private static func unixListener(at path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                    && listen(descriptor, 128) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRINUSE) }
        return descriptor
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The requests so far.
    package var requests: [ServedRequest] { state.withLock { $0.requests } }
    package var connectionCount: Int { state.withLock { $0.connections.count } }

    private func stop() async {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in connections { connection.hangUp() }
        await withCheckedContinuation { continuation in
            threads.notify(queue: .global()) { continuation.resume() }
        }
        close(listener)
    }

    private func start(_ work: @escaping @Sendable (ScriptedServer) -> Void) {
        threads.enter()
        Thread.detachNewThread { [self] in
            work(self)
            threads.leave()
        }
    }

    private func accept() {
        while true {
            places?.wait()
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            let connection = ServedConnection(descriptor)
            let isStopped = state.withLock { state in
                state.connections.append(connection)
                return state.isStopped
            }
            if isStopped { return connection.hangUp() }
            start { server in
                while let request = connection.nextRequest() {
                    server.state.withLock { $0.requests.append(request) }
                    do { try server.script(request, connection) } catch { break }
                }
                connection.hangUp()
                server.places?.signal()
            }
        }
    }
}

/// One request as received, without its body.
package struct ServedRequest: Sendable {
    package let method: String
    package let target: String
    package let headers: [(name: String, value: String)]

    package subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    package var bodyBytes: Int { self["content-length"].flatMap(Int.init) ?? 0 }
}

/// `POLLRDHUP`, which Swift cannot import.
private let pollReadHangUp: Int16 = 0x2000

/// The server's end of a connection; closed with its last reference.
package final class ServedConnection: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    package func hangUp() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Ends the connection as a server does that has been restarted since. connect(2): `AF_UNSPEC`.
    package func reset() {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        _ = connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Waits until the other side has hung up, and ignores bytes that it sent before.
    package func awaitHangUp() {
        var poller = pollfd(fd: descriptor, events: pollReadHangUp, revents: 0)
        while poll(&poller, 1, -1) < 0 && errno == EINTR {}
    }

    func nextRequest() -> ServedRequest? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = try? read(1).first else { return nil }
            head.append(byte)
        }
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let first = lines[0].components(separatedBy: " ")
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...]
            return (String(line[..<colon]), value.trimmingCharacters(in: .whitespaces))
        }
        return ServedRequest(method: first[0], target: first[1], headers: headers)
    }

    /// Reads exactly `count` bytes, in any number of pieces.
    package func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let piece = readSome(atMost: count - bytes.count)
            guard !piece.isEmpty else { throw POSIXError(.ECONNRESET) }
            bytes += piece
        }
        return bytes
    }

    /// Reads the available bytes; none once the other side has hung up.
    package func readSome(atMost count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = max(0, recv(descriptor, buffer.baseAddress, count, 0))
        }
    }

    package func write(_ text: String) throws {
        try write(Array(text.utf8))
    }

    package func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw POSIXError(.EPIPE) }
            sent += count
        }
    }

    /// Answers with a whole body.
    package func answer(_ status: String, _ headers: [String] = [], _ body: [UInt8] = []) throws {
        let fields = ["Content-Length: \(body.count)"] + headers
        try write("HTTP/1.1 \(status)\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
        try write(body)
    }
}
