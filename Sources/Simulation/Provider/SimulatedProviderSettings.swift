/// What kind of store a ``SimulatedProvider`` plays.
package struct SimulatedProviderSettings: Sendable {
    /// How long a call waits before it does anything.
    package var latency: ClosedRange<Duration> = .milliseconds(1)...(.milliseconds(50))
    /// How long a transfer waits between two pieces.
    package var pieceDelay: ClosedRange<Duration> = .zero...(.milliseconds(10))
    /// How long a transfer waits for its turn before the store is asked for anything.
    package var turnDelay: Duration = .zero
    /// How many bytes a piece of a transfer has, at least 1.
    package var pieceBytes: ClosedRange<Int> = 1...65_536
    /// Objects on one page of a listing.
    package var pageEntries = 100
    /// What the store can hold.
    package var capacityBytes: UInt64 = 1 << 40
    /// Whether it tells how much that is.
    package var tellsSpace = true
    /// What a busy store asks for.
    package var retryAfter: Duration = .seconds(2)

    /// Whether uploads can be gone on with where they stopped.
    package var resumesUploads = false

    /// Whether a directory moves in one step; else object by object.
    package var movesDirectoriesAtOnce = true
    /// Whether a file gets its attributes together with its bytes; else in a second step.
    package var storesAttributesAtOnce = true
    /// Whether a file moves in one step; else it is copied, then deleted.
    package var movesFilesAtOnce = true

    /// Whether a change that is under way is waited for although the calling task is cancelled.
    package var finishesChanges = false

    /// Whether a listing tells modes and extended attributes; else only a look at the object does.
    package var listsDetails = true
    /// Bytes of the names and values of an object's extended attributes.
    package var extendedAttributesBytesMax = 4_096

    package init() {}
}
