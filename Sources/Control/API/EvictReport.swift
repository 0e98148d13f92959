/// What an eviction freed, and what it left alone.
package struct EvictReport: Codable, Hashable, Sendable {
    package struct Refusal: Codable, Hashable, Sendable {
        package var path: String
        /// Why its bytes stay: `it has changes that are not on the remote`.
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// Files whose bytes went; one that had none does not count.
    package var files: UInt64
    package var bytesFreed: UInt64
    package var refused: [Refusal]

    package init(files: UInt64 = 0, bytesFreed: UInt64 = 0, refused: [Refusal] = []) {
        self.files = files
        self.bytesFreed = bytesFreed
        self.refused = refused
    }
}
