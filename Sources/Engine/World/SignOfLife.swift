/// Reports that a store is at work on an answer, from within a call of its provider.
///
/// A long listing would otherwise look like silence until its page is complete.
package enum SignOfLife {
    /// Called by providers on any thread when bytes of an answer arrive; nil if the caller of the
    /// provider is not interested.
    @TaskLocal package static var note: (@Sendable () -> Void)?

    /// Calls `note` for the bytes that arrive during `request`.
    ///
    /// Not optimised: code of Swift 6.3 that is crashes in `withValue`.
    @_optimize(none)
    static func observing<Value: Sendable>(
        _ note: @escaping @Sendable () -> Void,
        _ request: @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        let result = await $note.withValue(note) { () async -> Result<Value, ProviderError> in
            do throws(ProviderError) {
                return .success(try await request())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Calls `note` for the bytes of all calls that `work` makes.
    ///
    /// Not optimised, as ``observing(_:_:)``.
    @_optimize(none)
    static func forwarding<Value>(
        _ note: @escaping @Sendable () -> Void, _ work: () async throws -> Value
    ) async throws -> Value {
        try await $note.withValue(note) { try await work() }
    }
}
