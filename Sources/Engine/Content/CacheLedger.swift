/// Computes how much of the cache is in use, and whether more fits. It has no access to disk or
/// database.
struct CacheLedger {
    /// The limit of the local content, in bytes.
    private let configuredMax: UInt64
    /// The size at which the disk would have just the space that is to stay free, as last measured.
    private var diskMax: UInt64 = .max
    /// The space of all content files, as the database has it.
    private(set) var recorded: UInt64 = 0
    /// The commit up to which ``recorded`` is current; nil before the first.
    private(set) var commitCount: UInt64?
    /// The space that open files take beyond the record; negative after holes were punched.
    private(set) var unrecorded: Int64 = 0
    /// Bytes that are being fetched or removed.
    private(set) var reserved: UInt64 = 0
    /// Bytes of evicted files that are still on the disk.
    private(set) var leaving: UInt64 = 0

    init(bytesMax: UInt64) {
        configuredMax = bytesMax
    }

    /// The bound that holds at present.
    var bytesMax: UInt64 { min(configuredMax, diskMax) }

    /// Records how much more the disk can take before it has too little free space; negative if it has
    /// too little already.
    mutating func setDiskRoom(_ bytes: Int64) {
        let (room, overflow) = Int64(clamping: local).addingReportingOverflow(bytes)
        diskMax = overflow ? .max : UInt64(max(0, room))
    }

    /// The space of all content files, without reservations.
    var local: UInt64 { UInt64(max(0, Int64(clamping: recorded) + unrecorded)) + leaving }

    /// Returns by how much the bound would be exceeded with `bytes` more.
    func excess(with bytes: UInt64) -> UInt64 {
        let total = local + reserved + bytes
        return total > bytesMax ? total - bytesMax : 0
    }

    /// Reserves `bytes` if they fit below the bound together with `others`.
    mutating func reserve(_ bytes: UInt64, besides others: UInt64 = 0) -> Bool {
        guard excess(with: bytes + others) == 0 else { return false }
        reserved += bytes
        return true
    }

    /// Reserves `bytes` beyond the bound, unless more than `max` are reserved then: a reader that
    /// waits for the others to end has something to wait for.
    mutating func overdraw(_ bytes: UInt64, max: UInt64) -> Bool {
        guard reserved == 0 || reserved + bytes <= max else { return false }
        reserved += bytes
        return true
    }

    mutating func release(_ bytes: UInt64) { reserved -= bytes }

    /// Records the eviction of files whose bytes stay on the disk for a while.
    mutating func leave(_ bytes: UInt64) { leaving += bytes }

    /// Records that such bytes are removed.
    mutating func left(_ bytes: UInt64) { leaving -= bytes }

    /// Records a change of the space that an open file takes beyond its record.
    mutating func note(_ change: Int64) { unrecorded += change }

    /// Records that the database has `change` more bytes of open files.
    mutating func move(_ change: Int64) {
        unrecorded -= change
        recorded = UInt64(max(0, Int64(clamping: recorded) + change))
        // The last value read may contain them already.
        commitCount = nil
    }

    mutating func setRecorded(_ bytes: UInt64, at commitCount: UInt64) {
        (recorded, self.commitCount) = (bytes, commitCount)
    }
}
