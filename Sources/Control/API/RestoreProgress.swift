/// The progress of bringing files back from the trash.
package struct RestoreProgress: Codable, Hashable, Sendable {
    /// A file that is back.
    package struct Restored: Codable, Hashable, Sendable {
        /// The path that it had.
        package var path: String
        /// The path that it has now.
        package var to: String
        /// Whether it has another name than it should have, since that is taken.
        @OmittedIfFalse package var isRenamed: Bool

        package init(path: String, to: String, isRenamed: Bool = false) {
            self.path = path
            self.to = to
            self.isRenamed = isRenamed
        }

        private enum CodingKeys: String, CodingKey {
            case path, to
            case isRenamed = "renamed"
        }
    }

    /// All files that are back so far.
    package var files: UInt64 = 0
    package var bytes: UInt64 = 0
    /// Those that are back since the value before.
    package var restored: [Restored] = []
    /// Those that could not be brought back since the value before.
    package var failed: [SyncProgress.Failure] = []
    /// Whether it has ended. The last value of a stream.
    package var isDone = false

    package init() {}

    private enum CodingKeys: String, CodingKey {
        case files, bytes, restored, failed
        case isDone = "done"
    }
}
