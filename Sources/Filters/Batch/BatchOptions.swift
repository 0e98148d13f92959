import Glibc

/// How a batch runs.
package struct BatchOptions: Sendable {
    /// 1 to 100 for all lossy files; nil keeps near each original's.
    package var quality: Int?
    /// How many images are worked on at once.
    package var imagesAtOnce: Int
    /// How many files are opened and read at once, and how many are written: both wait for disks
    /// and networks more than for this machine.
    package var transfersAtOnce: Int
    /// How far reading runs ahead of the images being worked on.
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
