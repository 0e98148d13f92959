import Synchronization

/// The space that local content takes, and reservations of it: bytes are reserved before they are
/// fetched, counted by their space on the disk, whether their file is open or not.
final class CacheUse: Sendable {
    private let store: Store
    private let ledger: Mutex<CacheLedger>
    /// The space of closed files beyond their record, as that could not be stored.
    private let unrecorded = Mutex<[InodeNumber: Int64]>([:])
    /// Until this moment, no closed file can be evicted, unless one is closed.
    private let exhaustedUntil = Mutex(Duration.zero)
    /// Until this moment, no clean bytes are left to make space for written ones.
    private let fullOfChangesUntil = Mutex(Duration.zero)
    /// Until this moment, there is no room for readahead.
    private let readaheadPausedUntil = Mutex(Duration.zero)
    /// Held while space is made, so that two do not evict for the same need. Taken before all other
    /// locks.
    let eviction = Mutex(())
    /// Notified when reserved space was released.
    let signal = Signal()
    let bytesMax: UInt64
    private let keepFreeBytes: UInt64
    /// When the free space of the disk is measured again.
    private let nextMeasurement = Mutex(Duration.zero)

    init(store: Store, bytesMax: UInt64, keepFreeBytes: UInt64 = 0) {
        self.store = store
        self.bytesMax = bytesMax
        self.keepFreeBytes = keepFreeBytes
        ledger = Mutex(CacheLedger(bytesMax: bytesMax))
    }

    // MARK: Sizes that follow from the bound

    /// The minimum to free by one eviction, so that not every piece starts another.
    var stepBytes: UInt64 { part(32, atMost: 16 << 20) }

    /// How far a full cache is filled ahead of a reader.
    var windowBytes: UInt64 { part(16, atMost: 32 << 20) }

    /// Bytes behind a reader that it may still ask for, as requests arrive out of order.
    var trailBytes: UInt64 { part(32, atMost: 2 << 20) }

    /// The largest piece that a request waits for, and the smallest that is fetched for it.
    var demandBytes: UInt64 { part(64, atMost: 1 << 20) }

    /// The bytes fetched for a request of a reader that is not sequential.
    var randomBytes: UInt64 { part(64, atMost: 128 << 10) }

    /// A file up to this size is fetched as a whole once it is read.
    private var smallBytes: UInt64 { part(16, atMost: 4 << 20) }

    /// Piece size of fetches for which no request waits.
    var fillBytes: UInt64 { part(16, atMost: 4 << 20) }

    /// The longest piece of a pinned file, so that all of them in flight leave readers their room.
    var pinBytes: UInt64 { part(128, atMost: 4 << 20) }

    /// Returns how far files are fetched ahead.
    ///
    /// - Parameter hasRoom: Whether the cache has room without evicting other bytes.
    func aheadLimits(hasRoom: Bool) -> AheadLimits {
        AheadLimits(
            hasRoom: hasRoom,
            windowBytes: hasRoom ? max(windowBytes, part(8, atMost: 128 << 20)) : windowBytes,
            pieceBytes: part(16, atMost: 8 << 20), fillBytes: fillBytes, smallBytes: smallBytes)
    }

    /// By how much readers may exceed the bound together if nothing can be evicted.
    var overdraftBytes: UInt64 { part(2, atMost: 32 << 20) }

    private func part(_ divisor: UInt64, atMost bytes: UInt64) -> UInt64 {
        max(4_096, min(bytes, bytesMax / divisor))
    }

    // MARK: Use

    /// Has the bound follow the free space of the disk, which other programs use too; measured once a
    /// second at most.
    func followDisk(_ disk: any Disk, at now: Duration) throws(Blocked) {
        guard keepFreeBytes > 0 else { return }
        let isDue = nextMeasurement.withLock { next in
            guard now >= next else { return false }
            next = now + .seconds(1)
            return true
        }
        guard isDue else { return }
        try refresh()
        // Without an answer the last one holds.
        guard let space = try? disk.space() else { return }
        let room = Int64(clamping: space.availableBytes) - Int64(clamping: keepFreeBytes)
        ledger.withLock { $0.setDiskRoom(room) }
    }

    /// The bound that holds at present.
    var boundNow: UInt64 { ledger.withLock(\.bytesMax) }

    /// Returns the space of all content files, without reservations.
    func localBytes() throws(Blocked) -> UInt64 {
        try refresh()
        return ledger.withLock { $0.local }
    }

    /// Returns by how much the bound would be exceeded with `bytes` more.
    func excess(with bytes: UInt64 = 0) throws(Blocked) -> UInt64 {
        try refresh()
        return ledger.withLock { $0.excess(with: bytes) }
    }

    /// A variant of ``excess(with:)`` for each write, which may not know of the last commits.
    func excessNow(with bytes: UInt64) -> UInt64 { ledger.withLock { $0.excess(with: bytes) } }

    /// Whether requests in progress take a large part of the cache, so that pieces should be small.
    var isCrowded: Bool { ledger.withLock { $0.reserved > bytesMax / 8 } }

    /// - Parameter others: Bytes that are to be left for others.
    func reserve(_ bytes: UInt64, besides others: UInt64 = 0) throws(Blocked) -> Bool {
        try refresh()
        return ledger.withLock { $0.reserve(bytes, besides: others) }
    }

    /// Reserves `bytes` although they exceed the bound.
    ///
    /// - Parameter isRequired: Whether it must not wait for other requests.
    /// - Returns: Whether they are reserved; if not, others are, and ``signal`` follows.
    func overdraw(_ bytes: UInt64, isRequired: Bool) -> Bool {
        ledger.withLock { $0.overdraw(bytes, max: isRequired ? .max / 2 : overdraftBytes) }
    }

    func release(_ bytes: UInt64) {
        guard bytes > 0 else { return }
        ledger.withLock { $0.release(bytes) }
        signal.notify()
    }

    /// Counts `bytes` while `body` removes them: the database does not count them any more.
    func holding<Value>(
        _ bytes: UInt64, _ body: () throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        _ = overdraw(bytes, isRequired: true)
        defer { release(bytes) }
        return try body()
    }

    /// Counts bytes of evicted files, which the database does not count any more, until ``noteLeft(_:)``.
    func noteLeaving(_ bytes: UInt64) { ledger.withLock { $0.leave(bytes) } }

    func noteLeft(_ bytes: UInt64) {
        guard bytes > 0 else { return }
        ledger.withLock { $0.left(bytes) }
        signal.notify()
    }

    /// Measures the space of an open file after a change of it.
    func measure(_ state: inout OpenFile.State) {
        // Without an answer the next measurement counts it.
        guard let bytes = try? state.file.status().allocatedBytes else { return }
        let change = Int64(bytes) - Int64(state.bytesUsed)
        state.bytesUsed = bytes
        ledger.withLock { $0.note(change) }
    }

    /// Records that the database has the space of an open file as last measured, or that it is not
    /// open any more.
    func noteRecorded(_ state: inout OpenFile.State) {
        let change = Int64(state.bytesUsed) - Int64(state.bytesRecorded)
        guard change != 0 else { return }
        state.bytesRecorded = state.bytesUsed
        ledger.withLock { $0.move(change) }
    }

    /// Goes on to count the space of a file that is closed, although the database does not have it, until
    /// ``forgetUnrecorded(_:)``.
    func noteUnrecorded(_ inode: InodeNumber, _ state: OpenFile.State) {
        let change = Int64(state.bytesUsed) - Int64(state.bytesRecorded)
        guard change != 0 else { return }
        let isKept = unrecorded.withLock { unrecorded in
            guard unrecorded.count < Self.unrecordedMax else { return false }
            unrecorded[inode] = change
            return true
        }
        // Only the next start counts it then.
        if !isKept { ledger.withLock { $0.note(-change) } }
    }

    /// Records that a file was removed, or that its space is measured again.
    func forgetUnrecorded(_ inode: InodeNumber) {
        guard let change = unrecorded.withLock({ $0.removeValue(forKey: inode) }) else { return }
        ledger.withLock { $0.note(-change) }
    }

    /// The files whose space could not be stored, in ascending order.
    var unrecordedFiles: [InodeNumber] { unrecorded.withLock { $0.keys.sorted() } }

    private static var unrecordedMax: Int { 10_000 }

    private func refresh() throws(Blocked) {
        // A commit in between is read now or at the next refresh.
        let commitCount = store.commitCount
        guard ledger.withLock({ $0.commitCount != commitCount }) else { return }
        let recorded = try store.readBriefly { try $0.presentBytes() }
        ledger.withLock { $0.setRecorded(recorded, at: commitCount) }
    }

    // MARK: Evictions in vain

    func isExhausted(at now: Duration) -> Bool { exhaustedUntil.withLock { now < $0 } }

    /// Records that no closed file can be evicted: looking again soon is pointless.
    func noteExhausted(at now: Duration) { exhaustedUntil.withLock { $0 = now + .seconds(1) } }

    func isFullOfChanges(at now: Duration) -> Bool { fullOfChangesUntil.withLock { now < $0 } }

    func noteFullOfChanges(at now: Duration) {
        fullOfChangesUntil.withLock { $0 = now + .seconds(1) }
    }

    func isReadaheadPaused(at now: Duration) -> Bool { readaheadPausedUntil.withLock { now < $0 } }

    /// Records that readahead was refused: each read would try again.
    func noteReadaheadRefused(at now: Duration) {
        readaheadPausedUntil.withLock { $0 = now + .milliseconds(250) }
    }

    /// Records that a file was closed, which can be evicted now.
    func noteClosed() { exhaustedUntil.withLock { $0 = .zero } }
}
