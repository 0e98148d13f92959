/// What a run of the suite needs to know of a store beyond its traits.
package struct ConformanceOptions: Sendable {
    /// How many entries make a directory that takes more than one page.
    package var entriesOfSeveralPages = 1_100
    /// How many entries make a very large directory.
    package var entriesOfLargeDirectory = 100_000
    /// Makes empty files in a directory by a quicker way than the provider's: the directory's path
    /// and the names.
    package var fillDirectory: (@Sendable (String, [String]) throws -> Void)?
    /// How many bytes make a transfer of several pieces.
    package var bytesOfSeveralPieces = 8 << 20
    /// Whether names that are no UTF-8 can be stored; a store that cannot must refuse them.
    package var keepsAnyBytesInNames = true
    /// How long a path may be, from the root down.
    package var pathBytesMax = Int.max
    /// Names that the store cannot hold, and must refuse.
    package var refusedNames: Set<String> = []
    /// Whether names that differ in their Unicode normal form only are different names.
    package var tellsNormalFormsApart = true
    /// Whether a new version takes the place of the old one in one step; else a reader may find
    /// neither for a moment, and fail.
    package var replacesAtOnce = true
    /// Whether a long listing comes in several pages; a store that gives it whole has none to test.
    package var listsInPages = true
    /// Whether versions of the same size and time are told apart. Where they are not, as over
    /// rclone without hashes, every version that the suite writes has a time of its own.
    package var tellsVersionsOfOneTime = true
    /// Whether versions of the same size and time are told apart wherever moves bring them.
    package var tellsMovedVersions = true
    /// Whether the time of a directory can be set; many stores know only that of files.
    package var keepsModifiedOfDirectories = true
    /// Whether the time of a file can be set without another upload.
    package var setsModifiedAlone = true
    /// Whether a change of attributes alone is reported, if changes are reported at all.
    package var reportsAttributes = true

    package init() {}
}
