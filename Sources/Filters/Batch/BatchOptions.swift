import Glibc

/// The settings of a batch.
package struct BatchOptions: Sendable {
    /// 1 to 100 for all lossy files; nil keeps about the quality of each original.
    package var quality: Int?
    /// Images filtered at the same time.
    package var imagesAtOnce: Int
    /// Files read at the same time, and files written at the same time: both wait for disks and
    /// networks rather than for processors.
    package var transfersAtOnce: Int
    /// Limits of reading ahead of the images being filtered.
    package var readAheadFilesMax: Int
    package var readAheadBytesMax: Int

    package init(
        quality: Int? = nil, imagesAtOnce: Int = BatchOptions.cores, transfersAtOnce: Int = 4,
        readAheadFilesMax: Int = 32, readAheadBytesMax: Int = 256 << 20
    ) {
        self.quality = quality
        self.imagesAtOnce = imagesAtOnce
        self.transfersAtOnce = transfersAtOnce
        self.readAheadFilesMax = readAheadFilesMax
        self.readAheadBytesMax = readAheadBytesMax
    }

    package static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
