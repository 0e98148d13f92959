/// The pinned files of a mount in its status.
package struct PinCounts: Codable, Hashable, Sendable {
    /// The files and folders that are pinned themselves.
    package var items: UInt64 = 0
    /// The files at and below them.
    package var files: UInt64 = 0
    /// The space that these take once they are all here.
    package var bytes: UInt64 = 0
    /// The files of which bytes are missing.
    package var filesMissing: UInt64 = 0
    package var bytesMissing: UInt64 = 0
    /// Whether files are still being counted, so that there may be more.
    @OmittedIfFalse package var isCounting = false
    /// The reason why nothing is fetched; nil if there is none.
    package var hindrance: Problem?
    /// Some of the files that could not be fetched, and are tried again; nil if there are none.
    package var failed: [SyncProgress.Failure]?

    package init() {}

    private enum CodingKeys: String, CodingKey {
        case items, files, bytes, filesMissing, bytesMissing, hindrance, failed
        case isCounting = "counting"
    }
}
