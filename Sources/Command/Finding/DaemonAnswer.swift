import Control
import Foundation
import Synchronization

/// Bounds the wait for a daemon, and says on standard error what is waited for.
enum DaemonAnswer {
    /// A longer wait is named.
    private static let namedAfter: Duration = .seconds(3)
    /// How long a daemon may take to answer after the end of --timeout.
    static let grace: Duration = .seconds(5)
    static let remedy =
        "see the log in its state directory, or allow it more time with --timeout"

    /// Returns the answer to a request.
    ///
    /// The request runs in a task of its own, which is left behind at the limit: a call of the mount cannot be
    /// interrupted if its daemon is stopped.
    ///
    /// - Parameters:
    ///   - place: The mount or the paths in it, for the user.
    ///   - limit: nil for none.
    ///   - remedy: The advice at the limit.
    ///   - request: Calls its argument once the daemon has answered something, after which nothing is named.
    /// - Throws: ``ControlError`` `.failed` at the limit; errors of the request.
    static func wait<Value: Sendable>(
        from place: String, within limit: Duration?, remedy: String = remedy,
        for request: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Value
    ) async throws -> Value {
        let isAnswered = Flag()
        let (outcomes, continuation) = AsyncStream<Result<Value, any Error>>.makeStream()
        let work = Task {
            do {
                continuation.yield(.success(try await request { isAnswered.set() }))
            } catch {
                continuation.yield(.failure(error))
            }
        }
        let timer = Task {
            try await name(place, unless: isAnswered, within: limit)
            guard let limit else { return }
            continuation.yield(.failure(error(place, limit, remedy)))
        }
        defer {
            work.cancel()
            timer.cancel()
        }
        for await outcome in outcomes { return try outcome.get() }
        throw CancellationError()
    }

    /// Returns at the limit, and never if there is none.
    private static func name(
        _ place: String, unless isAnswered: Flag, within limit: Duration?
    ) async throws {
        if let limit, limit <= namedAfter { return try await Task.sleep(for: limit) }
        try await Task.sleep(for: namedAfter)
        if !isAnswered.isSet {
            Console.complain(
                "note: waiting for the daemon of \(place), which has not answered for "
                    + HumanDuration.format(seconds: Double(namedAfter.components.seconds)))
        }
        if let limit { try await Task.sleep(for: limit - namedAfter) }
    }

    private static func error(
        _ place: String, _ limit: Duration, _ remedy: String
    ) -> ControlError {
        let time = HumanDuration.format(seconds: limit / .seconds(1))
        return ControlError(
            .failed, what: "ask the daemon of \(place)", why: "it has not answered for \(time)",
            remedy: remedy)
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)

        var isSet: Bool { value.withLock { $0 } }
        func set() { value.withLock { $0 = true } }
    }
}
