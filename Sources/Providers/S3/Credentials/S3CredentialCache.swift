import Engine
import Synchronization

/// Caches credentials until shortly before they expire, and loads others as ``S3CredentialPlan``
/// decides.
final class S3CredentialCache: Sendable {
    /// - Parameter last: The origin of the previous ones, if there were any.
    typealias Load =
        @Sendable (_ last: S3CredentialOrigin?) async throws(S3CredentialError) -> S3Credentials

    private let load: Load
    private let plan = Mutex(S3CredentialPlan())
    /// Rings when a load has ended.
    private let bell = Signal()

    init(_ load: @escaping Load) {
        self.load = load
    }

    /// The origin of the last credentials; nil before the first.
    var origin: S3CredentialOrigin? { plan.withLock(\.origin) }

    /// - Parameter now: Evaluated again after each wait.
    func credentials(
        at now: @autoclosure @Sendable () -> Timestamp
    ) async throws(S3CredentialError) -> S3Credentials {
        while true {
            let notifications = bell.notifications
            switch plan.withLock({ $0.step(at: now()) }) {
            case .use(let credentials): return credentials
            case .fail(let error): throw error
            case .wait:
                await bell.wait(after: notifications)
                if Task.isCancelled { throw .cancelled }
            case .ask:
                // After a failure here, older ones may still be valid.
                if let credentials = try await ask(now) { return credentials }
            }
        }
    }

    /// - Returns: nil after a failure, which the plan has recorded.
    private func ask(
        _ now: @Sendable () -> Timestamp
    ) async throws(S3CredentialError) -> S3Credentials? {
        defer { bell.notify() }
        do throws(S3CredentialError) {
            let credentials = try await load(origin)
            plan.withLock { $0.received(credentials, at: now()) }
            return credentials
        } catch {
            let isCancelled = Task.isCancelled
            plan.withLock { $0.failed(isCancelled ? nil : error, at: now()) }
            if isCancelled { throw .cancelled }
            return nil
        }
    }

    func drop(_ refused: S3Credentials) {
        plan.withLock { $0.drop(refused) }
    }
}
