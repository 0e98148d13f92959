import Foundation
import Glibc

/// Stands between a daemon and its server, and counts the bytes and requests that pass.
///
/// It can hold back a request, an answer or all bytes after a number of them, so that a test finds a
/// transfer in its middle. It can be cut, so that the daemon finds no server.
final class Relay: @unchecked Sendable {  // sound: `condition` guards all mutable state
    enum Direction: CaseIterable {
        case toServer, fromServer
    }

    let port: UInt16
    private let target: UInt16
    private let condition = NSCondition()
    private var listener: Int32?
    private var connections: Set<Int32> = []
    private var passed: [Direction: Int] = [:]
    private var limits: [Direction: Int] = [:]
    private var methods: [String: Int] = [:]
    private var awaited: (method: String, direction: Direction)?
    /// The methods of requests whose answers are held back, by the server's ends of their connections.
    private var awaitedAnswers: [Int32: String] = [:]
    private var isHolding = false
    private var cuts = 0

    static func with<Value>(_ target: UInt16, _ body: (Relay) throws -> Value) throws -> Value {
        let relay = try Relay(to: target)
        try relay.open()
        defer { relay.cut() }
        return try body(relay)
    }

    private init(to target: UInt16) throws {
        self.target = target
        port = try LocalSocket.freePorts(1)[0]
    }

    // MARK: Steering

    /// Bytes that have passed so far.
    func count(_ direction: Direction) -> Int {
        condition.withLock { passed[direction, default: 0] }
    }

    /// Requests so far, by method.
    var requests: [String: Int] { condition.withLock { methods } }

    /// Lets that many bytes pass from now on, and holds back the rest.
    func hold(_ direction: Direction, after bytes: Int) {
        condition.withLock { limits[direction] = passed[direction, default: 0] + bytes }
    }

    /// Holds back the next request with this method, or the answer to it.
    func hold(_ direction: Direction, of method: String) {
        condition.withLock { awaited = (method, direction) }
    }

    /// Lets the bytes pass that were held back.
    func release() {
        condition.withLock { endHold() }
    }

    /// Returns once something is held back.
    func waitForHold(within seconds: TimeInterval = 30) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while !isHolding { if !condition.wait(until: deadline) { return isHolding } }
            return true
        }
    }

    /// Ends all connections, drops the bytes that were held back, and accepts no new connections.
    func cut() {
        condition.withLock {
            if let listener { shutdown(listener, Int32(SHUT_RDWR)) }
            listener = nil
            for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
            cuts += 1
            endHold()
        }
    }

    /// To be called under ``condition``.
    private func endHold() {
        limits = [:]
        awaited = nil
        awaitedAnswers = [:]
        isHolding = false
        condition.broadcast()
    }

    /// Takes connections, also after it was cut.
    func open() throws {
        let descriptor = try LocalSocket.listen(port)
        condition.withLock { listener = descriptor }
        Thread { [self] in takeConnections(descriptor) }.start()
    }

    // MARK: Threads

    private func takeConnections(_ listener: Int32) {
        while true {
            let near = accept(listener, nil, nil)
            guard near >= 0 else { break }
            _ = fcntl(near, F_SETFD, FD_CLOEXEC)
            guard let far = try? LocalSocket.connect(target) else {
                close(near)
                continue
            }
            let isOpen = condition.withLock {
                guard self.listener == listener else { return false }
                connections.formUnion([near, far])
                return true
            }
            guard isOpen else {
                close(near)
                close(far)
                break
            }
            Thread { [self] in serve(near, far) }.start()
        }
        close(listener)
    }

    private func serve(_ near: Int32, _ far: Int32) {
        let answered = DispatchSemaphore(value: 0)
        Thread { [self] in
            pump(from: far, to: near, .fromServer)
            answered.signal()
        }.start()
        pump(from: near, to: far, .toServer)
        answered.wait()
        condition.withLock { connections.subtract([near, far]) }
        close(near)
        close(far)
    }

    private func pump(from source: Int32, to sink: Int32, _ direction: Direction) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            let isHeld = isAwaited(
                buffer[..<count], direction, server: direction == .toServer ? sink : source)
            guard admit(count, direction, isHeld: isHeld) else { break }
            var sent = 0
            while sent < count {
                let result = buffer.withUnsafeBytes {
                    send(sink, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard result > 0 else { break }
                sent += result
            }
            if sent < count { break }
        }
        awaitAgain(server: direction == .toServer ? sink : source)
        // The end of one direction ends the other.
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
    }

    /// Whether ``hold(_:of:)`` waits for these bytes: a request begins with its method, and a connection
    /// has its next request after the answer.
    private func isAwaited(
        _ bytes: ArraySlice<UInt8>, _ direction: Direction, server: Int32
    ) -> Bool {
        condition.withLock {
            if direction == .fromServer { return awaitedAnswers.removeValue(forKey: server) != nil }
            if let method = Self.method(bytes) { methods[method, default: 0] += 1 }
            guard let awaited, bytes.starts(with: "\(awaited.method) ".utf8) else { return false }
            self.awaited = nil
            if awaited.direction == .fromServer { awaitedAnswers[server] = awaited.method }
            return awaited.direction == .toServer
        }
    }

    /// Waits for the next request instead, if a connection ends without the answer that is to be held
    /// back: the server has closed it as idle at this moment, and the client sends its request again.
    private func awaitAgain(server: Int32) {
        condition.withLock {
            guard let method = awaitedAnswers.removeValue(forKey: server) else { return }
            awaited = (method, .fromServer)
        }
    }

    private static let known = [
        "DELETE", "GET", "HEAD", "MKCOL", "MOVE", "OPTIONS", "POST", "PROPFIND", "PROPPATCH", "PUT",
    ]

    /// Returns the method of the request that begins with these bytes, if one does: a body follows
    /// with it, or by itself.
    private static func method(_ bytes: ArraySlice<UInt8>) -> String? {
        known.first { bytes.starts(with: "\($0) /".utf8) }
    }

    /// Counts bytes, or holds them back until they are let pass or the relay is cut.
    ///
    /// - Returns: Whether they may pass.
    private func admit(_ bytes: Int, _ direction: Direction, isHeld: Bool) -> Bool {
        condition.withLock {
            let isOver = limits[direction].map { passed[direction, default: 0] + bytes > $0 }
            if isHeld || isOver ?? false {
                let cutsBefore = cuts
                isHolding = true
                condition.broadcast()
                while isHolding { condition.wait() }
                guard cuts == cutsBefore else { return false }
            }
            passed[direction, default: 0] += bytes
            return true
        }
    }
}
