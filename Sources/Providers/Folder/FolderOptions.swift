/// Options of a ``FolderProvider``, for tests and for unusual file systems.
package struct FolderOptions: Sendable {
    /// Entries read for one page.
    package var pageEntries = 1_000
    /// Bytes that are copied between two checks of the task's cancellation.
    package var pieceBytes = 1 << 20
    /// Threads, and so concurrent calls.
    package var threads = 8

    package init() {}
}
