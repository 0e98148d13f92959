import Synchronization

/// The content of one file in use by open handles, an upload or an eviction.
///
/// The lock of its state orders all accesses to local bytes. Neither lock is held while waiting for the
/// network.
final class OpenFile: Sendable {
    /// Numbers since it was opened.
    struct Counts: Hashable {
        /// Writes and truncations.
        var changes: UInt64 = 0
        /// How often its local bytes were stored in the database.
        var stored: UInt64 = 0
    }

    struct State {
        let file: any DiskFile
        /// The kernel's handles that may write.
        var writers = 0
        var size: UInt64
        var modified: Timestamp
        /// The last change of its attributes that the database does not have yet. POSIX: `st_ctim`.
        var changed = Timestamp(nanoseconds: .min)
        /// The local bytes. Bytes written here are local, as are zeros past the end.
        var present: ExtentSet
        /// The bytes that are being fetched.
        var inFlight = ExtentSet()
        /// Whether the database has the file marked as being written (I1).
        var isMarkedWriting: Bool
        /// Whether the database has the bytes marked as possibly not on the disk.
        var isMarkedUnsafe = false
        /// Whether the content has changed since its last generation.
        var isChanged = false
        var counts = Counts()
        /// The value of ``present`` in the database.
        var stored: Presence
        /// The uploads that read the content file.
        var frozen: [FrozenContent] = []
        /// When it is uploaded if it stays open for writing.
        var longWriter = LongWriter()
        /// The end of a pause that the store has asked for before its bytes are requested again,
        /// and the store's error.
        var rest: (until: Duration, reason: ProviderError)?
        /// The bytes fetched ahead of its readers.
        var ahead = ReadAheadState()
        /// The requests that wait for bytes which are being fetched.
        var waits: [ByteWait] = []
        /// The fetches that end once no request waits for them.
        var flights: [Flight] = []
        /// Where its readers are.
        var reads = ReadPositions()
        /// The space that it takes on the disk, as last measured, and as the database has it.
        var bytesUsed: UInt64 = 0
        var bytesRecorded: UInt64 = 0
        /// Whether bytes of it were dropped while it was open: the cache has no room for all.
        var isStreamed = false
        /// Whether the file system has refused to punch a hole.
        var isPunchRefused = false
        /// Whether its last user has left it.
        var isClosed = false

        /// Whether its last close stores its times with a new version. After a kill the next start does that.
        var areTimesStoredAtClose: Bool {
            isMarkedWriting && isChanged && stored == .whole && writers > 0
        }

        var isWhole: Bool { present.contains(0..<size) }

        /// How much of the file is local.
        var presence: Presence {
            guard let gap = present.firstGap(in: 0..<size) else { return .whole }
            return gap == 0..<size ? .remote : .partial
        }

        /// Returns the first part of a range that is neither local nor being fetched.
        func firstMissing(in range: Range<UInt64>) -> Range<UInt64>? {
            present.gaps(in: range).lazy.compactMap { inFlight.firstGap(in: $0) }.first
        }

        /// Returns the first local bytes from an offset on.
        func firstPresent(from offset: UInt64, maxBytes: UInt64) -> Range<UInt64>? {
            var start = offset
            while start < size {
                let gap = present.firstGap(in: start..<size) ?? size..<size
                if gap.lowerBound > start { return start..<min(gap.lowerBound, start + maxBytes) }
                start = gap.upperBound
            }
            return nil
        }

        /// Whether missing bytes are being fetched.
        var isFetching: Bool { (ahead.isQueued || !inFlight.isEmpty) && !isWhole }

        /// The number of local bytes.
        var bytesHere: UInt64 {
            present.gaps(in: 0..<size).reduce(size) { $0 - UInt64($1.count) }
        }
    }

    let inode: InodeNumber
    /// The previous time of use, as stored in the database.
    let accessed: Timestamp
    let state: BargingMutex<State>
    /// Taken before the lock of ``state``: shared by fetches, which write bytes that are not local yet; alone
    /// by a change of bytes, to which theirs give way.
    let arrivals = ReadWriteLock()
    /// Whether its mode may have bits that a write by an ordinary user clears.
    private let mayHaveSetID: Atomic<Bool>
    /// Whether it has users beside those that fetch bytes ahead of them.
    let isWanted = Atomic(true)
    /// Whether its inode may have lost its name, so that its last user removes its content.
    let isUnlinked = Atomic(false)

    init(inode: InodeNumber, accessed: Timestamp, mayHaveSetID: Bool, state: sending State) {
        self.inode = inode
        self.accessed = accessed
        self.mayHaveSetID = Atomic(mayHaveSetID)
        self.state = BargingMutex(state)
    }

    func withState<Value: Sendable>(
        _ body: (inout State) throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        try state.withLock { state throws(Blocked) in try body(&state) }
    }

    /// As ``withState(_:)``, while no fetch writes bytes.
    func withBytes<Value: Sendable>(
        _ body: (inout State) throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        try arrivals.withExclusive { () throws(Blocked) in try withState(body) }
    }

    /// Records that the mode in the database may have changed, after the commit.
    func noteNewMode() {
        mayHaveSetID.store(true, ordering: .releasing)
    }

    /// Returns whether the mode may have set-user-ID or set-group-ID bits; then the caller reads it and
    /// clears them. A mode that is stored afterwards is checked again.
    func takeSetIDCheck() -> Bool {
        guard mayHaveSetID.load(ordering: .acquiring) else { return false }
        return mayHaveSetID.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Whether bytes have to be fetched before all of it can be read.
    var isMissingBytes: Bool { state.withLock { $0.stored != .whole && !$0.isWhole } }

    /// Size and times while the file may be being written; otherwise nil, as the database has them.
    var writtenState: (size: UInt64, modified: Timestamp, changed: Timestamp)? {
        state.withLock { state in
            guard state.isMarkedWriting else { return nil }
            return (state.size, state.modified, max(state.modified, state.changed))
        }
    }
}
