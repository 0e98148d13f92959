/// The result of an eviction.
package struct EvictReport: Codable, Hashable, Sendable {
    package struct Refusal: Codable, Hashable, Sendable {
        package var path: String
        /// The reason why its bytes stay: `it has changes that are not on the remote`.
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// Evicted files; one without local bytes does not count.
    package var files: UInt64 = 0
    package var bytesFreed: UInt64 = 0
    /// Bytes of these files that are being removed from the disk in the background.
    package var bytesLeaving: UInt64 = 0
    package var refused: [Refusal] = []

    package static let nothing = EvictReport()
}
