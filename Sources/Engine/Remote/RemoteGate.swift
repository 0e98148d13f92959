import Logging
import Synchronization

/// The only way to the provider: sets deadlines, records whether the remote answers, and pauses
/// synchronisation while it refuses the credentials.
final class RemoteGate: ProviderWrapper {
    let inner: any Provider
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let agenda: Agenda
    /// Notified when the credentials are accepted again.
    let resumes: [Signal]
    let reachability = Mutex<Reachability>(Reachability())
    /// Notified when the remote has refused the credentials.
    let pauseBell = Signal()
    /// Inodes whose request was refused for its credentials and has not been retried.
    let refusals = Mutex<Set<InodeNumber>>([])
    let departure: ShutdownGrace
    private let knownSpace = Mutex<StorageSpace?>(nil)

    init(
        _ provider: any Provider, grace: Duration, clock: any Clock, deadlines: Deadlines,
        logger: Logger, random: @escaping @Sendable () -> UInt64, agenda: Agenda, resumes: [Signal]
    ) {
        self.clock = clock
        self.logger = logger
        self.random = random
        self.agenda = agenda
        self.resumes = resumes
        departure = ShutdownGrace(
            grace: grace, clock: clock, deadlines: deadlines, logger: logger)
        inner = DeadlineProvider(inner: provider, departure: departure)
    }

    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        do throws(ProviderError) {
            let value = try await request()
            noteReachable()
            return value
        } catch {
            let error = error.during(call)
            noteFailure(error)
            throw error
        }
    }

    // MARK: Space

    /// The space of the remote; nil if it is not known.
    var remoteSpace: StorageSpace? { knownSpace.withLock { $0 } }

    func refreshSpace() async {
        do throws(ProviderError) {
            let space = try await space()
            knownSpace.withLock { $0 = space }
        } catch {
            // The last known space stays until the remote answers again.
        }
    }
}

extension Provider {
    /// Returns the object at a key; nil if there is none.
    func statIfPresent(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject? {
        do throws(ProviderError) {
            return try await stat(key)
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
    }

    /// Requires the mounted folder to exist on the remote: a store that has lost everything, for
    /// example because a disk is not mounted, has not deleted anything.
    ///
    /// - Throws: `.unreachable` if the root is missing.
    func requireRoot(_ refusal: ProviderError) async throws(ProviderError) {
        guard try await statIfPresent(.root)?.kind == .directory else {
            throw ProviderError(
                .unreachable, attempt: refusal.attempt,
                reason: "the mounted folder is not on the remote", cause: refusal)
        }
    }

    /// Returns whether two etags, either of which may be missing, denote the same version.
    func isSame(_ former: ETag?, as etag: ETag?) -> Bool {
        guard let former, let etag else { return former == etag }
        return isSame(former, as: etag)
    }
}
