import Synchronization

/// The content of one file while something uses it: open handles, an upload, an eviction.
///
/// Its lock orders everything that touches the bytes. It is taken before the database's and never
/// held across a wait for the network.
final class OpenFile: Sendable {
    struct State {
        let file: any DiskFile
        /// Handles of the kernel that may write.
        var writers = 0
        /// Length in bytes.
        var size: UInt64
        var modified: Timestamp
        /// The bytes that are here. Bytes that the user made are here, as are zeros past the end.
        var present: ExtentSet
        /// The bytes that somebody is fetching.
        var inFlight = ExtentSet()
        /// Whether the database knows that somebody may be writing (I1).
        var isMarkedWriting: Bool
        /// Whether the database knows that its bytes may not be on the disk.
        var isMarkedUnsafe = false
        /// Whether the content was changed since it was last given a generation.
        var isChanged = false
        /// What ``present`` is in the database.
        var stored: Presence
        /// Uploads that read the content file.
        var frozen: [FrozenContent] = []
        /// When a file that stays open for writing is to be sent next.
        var longWriterDue: Duration?
        /// Until when the store asks not to be asked for its bytes, and its words.
        var rest: (until: Duration, reason: ProviderError)?
        /// Whether a filler looks after the rest of the file.
        var isFilling = false

        var isWhole: Bool { present.contains(0..<size) }

        /// Whether missing bytes are on their way.
        var isFetching: Bool { (isFilling || !inFlight.isEmpty) && !isWhole }

        /// How many of its bytes are here.
        var bytesHere: UInt64 {
            present.gaps(in: 0..<size).reduce(size) { $0 - UInt64($1.count) }
        }
    }

    let inode: InodeNumber
    /// When it was used before, as far as the database knows.
    let accessed: Timestamp
    let state: Mutex<State>
    /// Rings when bytes have arrived, or a fetch has ended without them.
    let arrivals = Doorbell()

    init(inode: InodeNumber, accessed: Timestamp, state: sending State) {
        self.inode = inode
        self.accessed = accessed
        self.state = Mutex(state)
    }

    /// Runs `body` under the lock.
    func withState<Value>(
        _ body: (inout State) throws(Halt) -> Value
    ) throws(Halt) -> Value {
        let result: Result<Value, Halt> = state.withLock { state in
            do throws(Halt) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Size and time while somebody may be writing; nil where the database knows them.
    var writtenState: (size: UInt64, modified: Timestamp)? {
        state.withLock { $0.isMarkedWriting ? ($0.size, $0.modified) : nil }
    }

    /// Where an inode's content is kept, in folders of 256.
    static func path(of inode: InodeNumber) -> DiskPath {
        let folder = String(inode.rawValue & 0xFF, radix: 16)
        return DiskPath("\(StateFiles.contentFolder)/\(folder)/\(inode)")
    }

    /// The inode whose content is kept at a path; nil for paths that are not of that shape.
    static func inode(at path: DiskPath) -> InodeNumber? {
        let number = path.description.split(separator: "/").last.flatMap { Int64($0) }
        guard let inode = number.map(InodeNumber.init(rawValue:)), Self.path(of: inode) == path
        else { return nil }
        return inode
    }
}
