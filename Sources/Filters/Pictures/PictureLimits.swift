import Glibc

/// The most that one picture may take; see docs/decisions/019.
package struct PictureLimits: Hashable, Sendable {
    /// Of one page, compared with the file's header before any pixel is decoded.
    package var pixelsMax: Int
    /// Of the process that decodes the picture, without the file itself.
    package var memoryBytesMax: UInt64
    /// Processor time. A picture that takes three times as long by the clock is given up too.
    package var secondsMax: Int

    /// Above the largest sensors of phones and cameras, 200 and 150 megapixels.
    package static let defaultPixelsMax = 256_000_000
    package static let defaultSecondsMax = 300
    /// A worker that has decoded nothing takes about a tenth of this.
    package static let memoryBytesMin: UInt64 = 128 << 20

    package init(
        pixelsMax: Int = defaultPixelsMax, memoryBytesMax: UInt64? = nil,
        secondsMax: Int = defaultSecondsMax
    ) {
        self.pixelsMax = pixelsMax
        self.memoryBytesMax = memoryBytesMax ?? Self.defaultMemoryBytesMax
        self.secondsMax = secondsMax
    }

    /// The machine's memory divided by the number of workers, at least 1 GiB and at most 4 GiB.
    package static var defaultMemoryBytesMax: UInt64 {
        let pages = UInt64(max(sysconf(Int32(_SC_PHYS_PAGES)), 0))
        let pageBytes = UInt64(max(sysconf(Int32(_SC_PAGESIZE)), 0))
        return min(max(pages * pageBytes / UInt64(workerCount), 1 << 30), 4 << 30)
    }

    /// Pictures that are filtered at the same time: one for each core.
    package static var workerCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The time by the clock after which a worker that has not replied is given up.
    var deadline: Duration { .seconds(3 * secondsMax) }
}
