package import Engine

extension Provider {
    /// Sets all attributes.
    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        try await setAttributes(key, to: attributes, only: .all, etag: etag, nonce: nil)
    }
}
