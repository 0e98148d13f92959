/// Options of a ``FolderProvider``, for tests and for unusual file systems.
package struct FolderOptions: Sendable {
    /// How a directory is listed over several pages.
    package enum ListingOrder: Sendable {
        /// Continues at the position that the file system returned. Linear in the size of the
        /// directory, but sound only if positions outlive the open directory and do not shift.
        case position
        /// Continues after the last name, in byte order. Sound everywhere; reads all names for each
        /// page, so pages grow with the directory to keep their number below 130.
        case name
    }

    /// nil to let the file system decide.
    package var listingOrder: ListingOrder?
    /// Entries read for one page.
    package var pageEntries = 1_000
    /// Bytes that are copied between two checks of the task's cancellation.
    package var pieceBytes = 1 << 20
    /// Threads, and so concurrent calls.
    package var threads = 8

    package init() {}

    func resolved(for fileSystem: FolderFileSystem) -> FolderOptions {
        var options = self
        options.listingOrder = listingOrder ?? (fileSystem.positionsLast ? .position : .name)
        return options
    }
}
