import Foundation
import Glibc

/// Stands between a daemon and its server, and counts the bytes that pass.
///
/// It can hold back what comes after so many bytes, so that a test finds a transfer in its middle,
/// and be cut, so that the daemon finds nobody.
final class Relay: @unchecked Sendable {  // sound: what changes is touched under `condition` only
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
    private var isHolding = false

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

    /// Lets that many bytes pass from now on, and holds back what comes then.
    func hold(_ direction: Direction, after bytes: Int) {
        condition.withLock { limits[direction] = passed[direction, default: 0] + bytes }
    }

    /// Returns once something is held back.
    func waitForHold(within seconds: TimeInterval = 30) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while !isHolding { if !condition.wait(until: deadline) { return isHolding } }
            return true
        }
    }

    /// Ends all connections, drops what was held back, and takes no new ones.
    func cut() {
        condition.withLock {
            if let listener { shutdown(listener, Int32(SHUT_RDWR)) }
            listener = nil
            for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
            limits = [:]
            isHolding = false
            condition.broadcast()
        }
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
            guard count > 0, admit(count, direction) else { break }
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
        // Whoever ends one way ends the other.
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
    }

    /// Counts bytes, or holds them back until the relay is cut.
    ///
    /// - Returns: Whether they may pass.
    private func admit(_ bytes: Int, _ direction: Direction) -> Bool {
        condition.withLock {
            guard let limit = limits[direction], passed[direction, default: 0] + bytes > limit
            else {
                passed[direction, default: 0] += bytes
                return true
            }
            isHolding = true
            condition.broadcast()
            while isHolding { condition.wait() }
            return false
        }
    }
}
