/// Ends provider calls that take too long, so that they are retried (I8), and waits no longer than
/// the grace period at shutdown. Calls that change nothing also end in an outage, see
/// ``ProviderCall/end``.
///
/// A transfer may take any time: the provider ends it if it makes no progress. So may the wait for
/// changes.
struct DeadlineProvider: ProviderWrapper {
    let inner: any Provider
    let departure: ShutdownGrace

    /// Maximum duration of a metadata request.
    static let lookMax: Duration = .seconds(60)
    /// Maximum duration of a listing page, which in some stores is the whole listing, and of a
    /// change.
    static let changeMax: Duration = .seconds(600)
    /// Maximum duration of a change for which a store copies an object, perhaps of terabytes.
    static let copyMax: Duration = .seconds(3_600)

    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        // A cancelled read ends at once, so it needs no task that outlives the caller's.
        if case .read = call { return try await departure.untilOutage(call.description, request) }
        return try await departure.outlasting(
            call.description, within: limit(call), endsAt: call.end, request)
    }

    /// Returns the maximum duration of a call; nil for a transfer, for a directory that is moved
    /// object by object, and for the wait for changes.
    private func limit(_ call: ProviderCall) -> Duration? {
        switch call {
        case .probe, .stat, .space, .follow: Self.lookMax
        case .read, .write, .changes: nil
        case .list, .prepare, .abandon, .createDirectory, .createSymlink, .delete, .publicLink:
            Self.changeMax
        case .setAttributes: Self.copyMax
        case .move(_, _, let isFile): traits.movesDirectoriesAtOnce || isFile ? Self.copyMax : nil
        }
    }
}

extension ProviderCall {
    /// The stage of an outage at which it ends; nil for never.
    ///
    /// A store may say nothing at all while it lists a huge directory, and begins again from the start
    /// if that is ended. A read or a query of one object is soon repeated.
    fileprivate var end: OutageStage? {
        if case .list = self { return .confirmed }
        return isLook ? .outOfReach : nil
    }
}
