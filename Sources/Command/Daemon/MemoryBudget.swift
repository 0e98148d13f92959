/// The memory that the buffers of a mount may take, and the share of each kind.
struct MemoryBudget: Hashable, Sendable {
    static let standard = MemoryBudget(bytes: 64 << 20)
    static let bytesMin: UInt64 = 16 << 20
    /// More would change nothing.
    static let bytesMax: UInt64 = 1 << 40

    let bytes: UInt64

    /// SQLite's caches of pages.
    var databaseBytes: UInt64 { bytes / 4 }

    /// Bytes of answers that have arrived and wait for the disk.
    var waitingBytes: UInt64 { bytes / 8 }

    /// The buffers of requests in flight to the remote.
    var transferBytes: UInt64 { bytes / 4 }

    /// The number of kernel requests handled at a time, of which each may have 1 MiB to read or write.
    var requestsMax: Int { Int(min(max((bytes * 3 / 8) >> 20, 4), 32)) }
}
