package import Engine

extension ProviderError {
    /// A failure within an operation that ``attempting(_:_:)`` names further up.
    package init(
        _ kind: Kind, _ reason: String, remedy: String? = nil, retryAfter: Duration? = nil,
        cause: (any Error)? = nil
    ) {
        self.init(
            kind, attempt: "", reason: reason, remedy: remedy, retryAfter: retryAfter, cause: cause)
    }
}

/// Runs an operation and names it in its failure.
///
/// - Parameter attempt: The operation with its values: `stat "a/b"`.
package func attempting<Value: Sendable>(
    _ attempt: @autoclosure () -> String, _ body: () async throws(ProviderError) -> Value
) async throws(ProviderError) -> Value {
    do {
        return try await body()
    } catch {
        throw ProviderError(
            error.kind, attempt: attempt(), reason: error.reason, remedy: error.remedy,
            retryAfter: error.retryAfter, cause: error.cause)
    }
}
