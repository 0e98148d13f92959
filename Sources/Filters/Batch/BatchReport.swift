/// The result of a batch.
package struct BatchReport: Hashable, Sendable, Codable {
    package struct Failure: Hashable, Sendable, Codable {
        package let path: String
        package let reason: String
    }

    package var filters: [String]
    package var filesChanged = 0
    /// Files that are not images.
    package var filesPassedOver = 0
    package var filesFailed = 0
    /// Bytes of the changed files, before and after.
    package var bytesBefore = 0
    package var bytesAfter = 0
    package var seconds = 0.0
    /// Whether the batch was stopped before the end, leaving the remaining files unchanged.
    package var isCancelled = false
    /// The first ``failuresMax`` failures.
    package var failures: [Failure] = []

    package static let failuresMax = 1000

    package init(filters: [String]) {
        self.filters = filters
    }

    mutating func fail(_ path: RawPath, reason: String) {
        filesFailed += 1
        if failures.count < Self.failuresMax {
            failures.append(Failure(path: path.description, reason: reason))
        }
    }
}
