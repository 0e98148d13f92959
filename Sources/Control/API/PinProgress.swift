/// The progress of pinning some paths.
package struct PinProgress: Codable, Hashable, Sendable {
    /// The files at and below the paths, as far as they are counted.
    package var files: UInt64 = 0
    /// The space that they take once they are all here.
    package var bytes: UInt64 = 0
    /// The files of which bytes are missing.
    package var filesMissing: UInt64 = 0
    package var bytesMissing: UInt64 = 0
    /// Whether the paths are pinned; before that, files are counted.
    package var isPinned = false
    /// The reason why nothing is fetched now; nil if there is none.
    package var hindrance: Problem?
    /// Some of the files that could not be fetched, and are tried again.
    package var failed: [SyncProgress.Failure] = []
    /// Whether this is the last report: everything is here, or is fetched without this request.
    package var isDone = false

    package init() {}

    private enum CodingKeys: String, CodingKey {
        case files, bytes, filesMissing, bytesMissing, hindrance, failed
        case isPinned = "pinned"
        case isDone = "done"
    }
}
