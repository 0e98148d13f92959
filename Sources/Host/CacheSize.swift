package import Engine

/// The number of bytes that local copies may take.
package enum CacheSize {
    /// A smaller cache would hold little more than the files in use.
    package static let bytesMin: UInt64 = 64 << 20

    /// The default: a tenth of the disk, at most half of its free space, at least ``bytesMin``.
    ///
    /// - Parameters:
    ///   - space: Of the file system that holds the state directory.
    ///   - cachedBytes: Bytes of earlier local copies, which count as free: they may be evicted.
    package static func standard(on space: StorageSpace, cachedBytes: UInt64) -> UInt64 {
        let free = space.availableBytes + min(cachedBytes, space.totalBytes - space.freeBytes)
        return max(bytesMin, min(space.totalBytes / 10, free / 2))
    }
}
