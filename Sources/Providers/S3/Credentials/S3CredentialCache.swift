import Engine
import Synchronization

/// Caches credentials until shortly before they expire, and loads others as ``S3CredentialPlan``
/// decides.
///
/// A load belongs to no single request: a command may ask the user, which takes longer than most
/// requests may.
final class S3CredentialCache: Sendable {
    /// - Parameter last: The origin of the previous ones, if there were any.
    typealias Load =
        @Sendable (_ last: S3CredentialOrigin?) async throws(S3CredentialError) -> S3Credentials

    private let load: Load
    private let plan = Mutex(S3CredentialPlan())
    /// Rings when a load has ended.
    private let bell = Signal()
    /// The last load.
    private let loading = Mutex<Task<Void, Never>?>(nil)
    /// How often one who waits for a load reports that it waits for this machine, not for the store.
    private static var signInterval: Duration { .seconds(1) }

    init(_ load: @escaping Load) {
        self.load = load
    }

    deinit {
        loading.withLock { $0 }?.cancel()
    }

    /// The origin of the last credentials; nil before the first.
    var origin: S3CredentialOrigin? { plan.withLock(\.origin) }

    func credentials(by clock: any Clock) async throws(S3CredentialError) -> S3Credentials {
        while true {
            let notifications = bell.notifications
            switch plan.withLock({ $0.step(at: clock.wallTime) }) {
            case .use(let credentials): return credentials
            case .fail(let error): throw error
            case .wait:
                await bell.wait(
                    after: notifications, until: clock.uptime + Self.signInterval, on: clock)
                if Task.isCancelled { throw .cancelled }
                SignOfLife.note?()
            case .ask: startLoad(clock)
            }
        }
    }

    /// Starts a load, which goes on if those who wait for it give up.
    private func startLoad(_ clock: any Clock) {
        let last = origin
        let task = Task.detached { [load, weak self] in
            do throws(S3CredentialError) {
                let credentials = try await load(last)
                self?.plan.withLock { $0.received(credentials, at: clock.wallTime) }
            } catch {
                self?.plan.withLock { $0.failed(error, at: clock.wallTime) }
            }
            self?.bell.notify()
        }
        loading.withLock { $0 = task }
    }

    func drop(_ refused: S3Credentials) {
        plan.withLock { $0.drop(refused) }
    }
}
