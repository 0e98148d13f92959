import Engine
package import ProviderSupport

extension WebDAVProvider {
    /// Opens a source as a user writes it.
    ///
    /// - Parameters:
    ///   - renewed: Reads the credentials again after the server has refused them; nil to keep the
    ///     old ones.
    ///   - pageEntries: The number of entries in a page of a listing.
    ///   - chunkBytes: The size of a chunk of a large file.
    package static func connect(
        to source: String, credentials: Credentials? = nil,
        renewed: @escaping @Sendable () async -> Credentials? = { nil }, world: ProviderEnvironment,
        pageEntries: Int = 1_000, chunkBytes: UInt64 = Self.chunkBytesUsual
    ) async throws -> WebDAVProvider {
        try await WebDAVConnector(
            address: try WebDAVSource(parsing: source).address, credentials: credentials,
            renewed: renewed, world: world, pageEntries: pageEntries, chunkBytes: chunkBytes
        ).connect()
    }
}
