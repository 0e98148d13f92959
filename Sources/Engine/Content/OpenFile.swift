import Synchronization

/// The content of one file in use by open handles, an upload or an eviction.
///
/// Its lock orders all accesses to the bytes. It is never held while waiting for the network.
final class OpenFile: Sendable {
    struct State {
        let file: any DiskFile
        /// The kernel's handles that may write.
        var writers = 0
        var size: UInt64
        var modified: Timestamp
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
        /// The value of ``present`` in the database.
        var stored: Presence
        /// The uploads that read the content file.
        var frozen: [FrozenContent] = []
        /// When a file that stays open for writing is uploaded next.
        var longWriterDue: Duration?
        /// The end of a pause that the store has asked for before its bytes are requested again,
        /// and the store's error.
        var rest: (until: Duration, reason: ProviderError)?
        /// Whether the rest of the file is being fetched in the background.
        var isFilling = false

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

        /// Whether missing bytes are being fetched.
        var isFetching: Bool { (isFilling || !inFlight.isEmpty) && !isWhole }

        /// The number of local bytes.
        var bytesHere: UInt64 {
            present.gaps(in: 0..<size).reduce(size) { $0 - UInt64($1.count) }
        }
    }

    let inode: InodeNumber
    /// The previous time of use, as stored in the database.
    let accessed: Timestamp
    let state: Mutex<State>
    /// Notified when bytes have arrived, or a fetch has ended without them.
    let arrivals = Signal()

    init(inode: InodeNumber, accessed: Timestamp, state: sending State) {
        self.inode = inode
        self.accessed = accessed
        self.state = Mutex(state)
    }

    func withState<Value: Sendable>(
        _ body: (inout State) throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        try state.withLock { state throws(Blocked) in try body(&state) }
    }

    /// Size and time while the file may be being written; otherwise nil, as the database has them.
    var writtenState: (size: UInt64, modified: Timestamp)? {
        state.withLock { $0.isMarkedWriting ? ($0.size, $0.modified) : nil }
    }
}
