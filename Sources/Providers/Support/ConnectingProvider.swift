package import Engine
import Synchronization

/// A provider of a store that may be out of reach: it connects at each probe, until one succeeds.
///
/// While the first attempt is under way, calls wait for it. After a failed one they fail at once, as
/// unreachable or unauthorised, until a later attempt succeeds.
package final class ConnectingProvider: ProviderWrapper {
    private struct State {
        var provider: (any Provider)?
        /// That of the last attempt.
        var failure: SourceError?
        var isConnecting = false
    }

    /// Those that an earlier connection has shown.
    package let traits: ProviderTraits
    private let open: @Sendable () async throws(SourceError) -> any Provider
    private let state = Mutex(State())
    private let ends = Signal()

    /// - Parameter open: Connects, and fails if the store has other traits by now. Called by one task at
    ///   a time.
    package init(
        traits: ProviderTraits,
        open: @escaping @Sendable () async throws(SourceError) -> any Provider
    ) {
        self.traits = traits
        self.open = open
    }

    /// Connects, or joins the attempt that is under way, which continues if the calling task is
    /// cancelled.
    ///
    /// - Throws: The reason why it failed; `.unavailable` if the calling task was cancelled.
    package func connect() async throws(SourceError) {
        begin()
        await awaitEnd { $0.isConnecting }
        let state = state.withLock { $0 }
        if state.provider != nil { return }
        throw state.failure ?? SourceError(.unavailable, "not connected yet", remedy: "try again")
    }

    private func begin() {
        let isNew = state.withLock { state in
            guard state.provider == nil, !state.isConnecting else { return false }
            state.isConnecting = true
            return true
        }
        guard isNew else { return }
        Task {
            let outcome: Result<any Provider, SourceError>
            do throws(SourceError) {
                outcome = .success(try await open())
            } catch {
                outcome = .failure(error)
            }
            state.withLock { state in
                state.isConnecting = false
                switch outcome {
                case .success(let provider): (state.provider, state.failure) = (provider, nil)
                case .failure(let error): state.failure = error
                }
            }
            ends.notify()
        }
    }

    private func awaitEnd(while condition: (borrowing State) -> Bool) async {
        while !Task.isCancelled {
            let notifications = ends.notifications
            guard state.withLock({ condition($0) }) else { return }
            await ends.wait(after: notifications)
        }
    }

    // MARK: Calls

    /// Called only after ``awaitConnection()``.
    package var inner: any Provider {
        guard let connected else { preconditionFailure("not connected") }
        return connected
    }

    private var connected: (any Provider)? { state.withLock(\.provider) }

    package func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        _ = try await awaitConnection()
        return try await request()
    }

    private func awaitConnection() async throws(ProviderError) -> any Provider {
        await awaitEnd { $0.isConnecting && $0.failure == nil }
        let state = state.withLock { $0 }
        if let provider = state.provider { return provider }
        if Task.isCancelled { throw ProviderError(.cancelled, "cancelled") }
        throw state.failure.map(Self.error)
            ?? ProviderError(.unreachable, "it is not connected yet")
    }

    private static func error(_ failure: SourceError) -> ProviderError {
        let isRefused = (failure.cause as? ProviderError)?.kind == .unauthorized
        return ProviderError(
            isRefused ? .unauthorized : .unreachable, failure.description, cause: failure)
    }

    package func probe() async throws(ProviderError) {
        if let connected { return try await connected.probe() }
        do throws(SourceError) {
            try await connect()
        } catch {
            throw Task.isCancelled ? ProviderError(.cancelled, "cancelled") : Self.error(error)
        }
    }

    package func entries(of directory: ObjectKey) -> ListingCursor {
        ListingCursor(nil as ListingCursor?) { [self] listing async throws(ProviderError) in
            let cursor =
                if let listing { listing } else {
                    try await awaitConnection().entries(of: directory)
                }
            listing = cursor
            return try await cursor.next()
        }
    }

    package var givesFirstBytes: Bool { connected?.givesFirstBytes ?? false }

    package var preparesForChanges: Bool { connected?.preparesForChanges ?? false }

    // Without a connection, nothing is followed.

    package func unfollow(_ directory: ObjectKey) { connected?.unfollow(directory) }

    // Without a connection, no etag comes from the store.

    package func isSame(_ former: ETag, as etag: ETag) -> Bool {
        connected?.isSame(former, as: etag) ?? (former == etag)
    }

    package func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool {
        connected?.hasSameBytes(former, as: etag) ?? (former == etag)
    }
}
