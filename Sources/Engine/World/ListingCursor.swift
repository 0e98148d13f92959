import Synchronization

/// A listing in progress, which holds its provider's state and frees it with its last reference.
///
/// Each page is a separate call of the provider, which stops soon after its task is cancelled. The
/// cursor is used by one task at a time. After a failure, the listing starts again with a new one.
package struct ListingCursor: Sendable {
    private let advance: @Sendable () async throws(ProviderError) -> ListingPage

    package init(_ advance: @escaping @Sendable () async throws(ProviderError) -> ListingPage) {
        self.advance = advance
    }

    /// - Parameters:
    ///   - state: The state before the first page.
    ///   - advance: Returns the next page; a failure drops the state.
    package init<State: Sendable>(
        _ state: State,
        _ advance: @escaping @Sendable (inout State) async throws(ProviderError) -> ListingPage
    ) {
        let kept = Mutex<State?>(state)
        self.init { () async throws(ProviderError) in
            guard var state = kept.withLock({ $0.take() }) else {
                preconditionFailure("a cursor is used after a failure, or by two tasks")
            }
            let page = try await advance(&state)
            kept.withLock { $0 = state }
            return page
        }
    }

    /// Returns the next page; not called after the last one.
    package func next() async throws(ProviderError) -> ListingPage {
        try await advance()
    }
}
