package import Engine

extension UploadSession {
    /// As ``keepProof()``, with the error of a provider.
    package func requireProof() async throws(ProviderError) {
        do {
            try await keepProof()
        } catch let error as ProviderError {
            throw error
        } catch is CancellationError {
            throw ProviderError(.cancelled, "cancelled")
        } catch {
            throw ProviderError(
                .source, "the bytes cannot be read or their digest not be kept: \(error)",
                cause: error)
        }
    }
}
