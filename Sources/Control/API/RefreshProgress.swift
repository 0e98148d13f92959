/// The progress of a refresh.
package struct RefreshProgress: Codable, Hashable, Sendable {
    /// The number of folders that were looked at.
    package var folders: UInt64
    /// Whether all of them were. The last value of a stream.
    package var isDone: Bool

    package init(folders: UInt64, isDone: Bool = false) {
        self.folders = folders
        self.isDone = isDone
    }

    private enum CodingKeys: String, CodingKey {
        case folders
        case isDone = "done"
    }
}
