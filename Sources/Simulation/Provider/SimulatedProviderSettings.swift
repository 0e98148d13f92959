package import Engine

/// The behaviour of a ``SimulatedProvider``.
package struct SimulatedProviderSettings: Sendable {
    /// The delay of a call before it does anything.
    package var latency: ClosedRange<Duration> = .milliseconds(1)...(.milliseconds(50))
    /// The delay between two pieces of a transfer.
    package var pieceDelay: ClosedRange<Duration> = .zero...(.milliseconds(10))
    /// The delay of a transfer before its first request to the store.
    package var turnDelay: Duration = .zero
    /// The size of a piece of a transfer, at least 1.
    package var pieceBytes: ClosedRange<Int> = 1...65_536
    /// Objects on one page of a listing.
    package var pageEntries = 100
    /// How long an empty page before all others takes; nil for none.
    package var emptyPageDelay: Duration?
    /// Whether all pages after the first are on this machine by then.
    package var spoolsListings = false
    /// The delay of such a page.
    package var spoolDelay: Duration = .zero
    /// The delay between two signs of life of a listing, and their number.
    package var listingSigns: (interval: Duration, count: Int) = (.zero, 0)
    package var capacityBytes: UInt64 = 1 << 40
    /// Whether it reports its capacity.
    package var tellsSpace = true
    /// The delay that a busy store asks for.
    package var retryAfter: Duration = .seconds(2)

    /// Whether the version is confirmed before the first byte of a read; otherwise after the last.
    package var confirmsVersions = true
    /// Whether the bytes passed on so far are confirmed in between, if not before the first.
    package var confirmsParts = false

    /// Whether the first bytes of files come with their metadata.
    package var givesFirstBytes = false
    /// Whether those of some do not.
    package var omitsFirstBytes = true

    /// Whether the first upload takes another request, which may come before.
    package var preparesForChanges = false

    /// Whether interrupted uploads can be resumed.
    package var resumesUploads = false

    /// Whether a directory moves in one step or object by object.
    package var movesDirectoriesAtOnce = true
    /// Whether the files of a directory that it moves object by object get other etags.
    package var givesCopiesOtherETags = false
    /// Whether a file gets its attributes with its bytes or in a second step.
    package var storesAttributesAtOnce = true
    /// Whether the session is told the etag of an upload before it happens; otherwise the file keeps
    /// the nonce of the session.
    package var tellsVersionsAhead = false
    package var checksums = SimulatedChecksumKind.none
    /// Whether a file moves in one step or is copied and then deleted.
    package var movesFilesAtOnce = true
    /// Whether a move in two steps fails with the refusal of the second one.
    package var passesOnRefusals = false

    /// Whether a change that is under way is waited for although the calling task is cancelled.
    package var finishesChanges = false

    /// Its reports of changes; nil for none.
    package var feed: SimulatedFeedSettings?

    /// The names that it takes for one.
    package var names = NameMatching.exact
    /// Whether its traits say so.
    package var tellsNames = true
    /// Whether it stores names in Unicode's decomposed form, like HFS+.
    package var decomposesNames = false

    /// Whether a listing has modes and extended attributes, or only `stat` of an object.
    package var listsMetadata = true
    /// Whether the user is content with what listings have.
    package var trustsListings = false
    /// Bytes of the names and values of an object's extended attributes.
    package var extendedAttributesBytesMax = 4_096

    package init() {}
}
