/// The progress of a download of some paths.
package struct DownloadProgress: Codable, Hashable, Sendable {
    /// The files at and below the paths, as far as they are counted.
    package var files: UInt64 = 0
    /// The space that they take once they are all here.
    package var bytes: UInt64 = 0
    /// The files of which bytes are missing.
    package var filesMissing: UInt64 = 0
    package var bytesMissing: UInt64 = 0
    /// The files that could not be fetched, at most 20: then the rest is left alone.
    package var failed: [SyncProgress.Failure] = []
    /// Whether this is the last report.
    package var isDone = false

    package init() {}

    private enum CodingKeys: String, CodingKey {
        case files, bytes, filesMissing, bytesMissing, failed
        case isDone = "done"
    }
}
