/// How a ``FolderProvider`` works, for tests and for odd file systems.
package struct FolderOptions: Sendable {
    /// How a directory is listed over several pages.
    package enum ListingOrder: Sendable {
        /// Goes on at the position that the file system gave. Linear in the size of the directory,
        /// but sound only where positions outlive the open directory and do not shift.
        case position
        /// Goes on after the last name, in the order of bytes. Sound everywhere; reads all names
        /// for each page, so pages grow with the directory to keep their number below 130.
        case name
    }

    /// nil to choose by the file system.
    package var listingOrder: ListingOrder?
    /// Entries read for one page.
    package var pageEntries = 1_000
    /// Bytes that are moved between two looks at the task's cancellation.
    package var pieceBytes = 1 << 20
    /// Threads, and so calls at a time.
    package var threads = 8

    package init() {}

    func resolved(for fileSystem: FolderFileSystem) -> FolderOptions {
        var options = self
        options.listingOrder = listingOrder ?? (fileSystem.positionsLast ? .position : .name)
        return options
    }
}
