/// The local storage for content files, with paths relative to the state directory.
///
/// Calls block; they are made on FUSE threads and in tasks whose threads may block.
package protocol Disk: Sendable {
    /// Opens a file for reading and writing. Creates it if it is missing, empty and with mode 0600,
    /// together with its parent directories. POSIX: `open` with `O_RDWR | O_CREAT`.
    func open(_ path: DiskPath) throws(DiskError) -> any DiskFile

    /// Waits while many descriptors of written files are about to be closed, so that further files can be
    /// opened. The caller holds no lock: the disk has to store the bytes of these files first.
    func awaitDescriptors()

    /// Makes a new file at `path` with the present bytes of `file`, replacing an existing one.
    ///
    /// Shares the bytes if the file system can (`FICLONE`), otherwise copies them with their holes.
    /// The caller ensures that `file` is not written meanwhile.
    ///
    /// - Throws: `.full` also if a copy would not leave ``StorageSpace/reserve``.
    func clone(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> any DiskFile

    /// Whether clones share their bytes with the original, so that they take no time and room.
    var sharesBytes: Bool { get }

    /// Makes a clone that shares its bytes with `file`, replacing an existing file at `path`. Linux:
    /// `FICLONE`.
    ///
    /// - Returns: nil if the file system cannot do that.
    func share(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> (any DiskFile)?

    /// Copies a range of a file to the same place in another one, except holes. Other parts of both
    /// may be written meanwhile.
    ///
    /// - Throws: `.full` also if the copy would not leave ``StorageSpace/reserve``.
    func copy(
        _ range: Range<UInt64>, of file: any DiskFile, to target: any DiskFile
    ) throws(DiskError)

    /// Moves a file, replacing an existing one; open handles stay valid.
    ///
    /// - Throws: `.missing`.
    func move(_ path: DiskPath, to destination: DiskPath) throws(DiskError)

    /// Removes a file; open ones keep their bytes. A missing file is not an error.
    func remove(_ path: DiskPath) throws(DiskError)

    /// Returns the status of a file; nil if it is missing. POSIX: `stat`.
    func status(of path: DiskPath) throws(DiskError) -> DiskFileStatus?

    /// Returns the paths of all files below a directory, in no order; none if it is missing.
    func files(below directory: DiskPath) throws(DiskError) -> [DiskPath]

    /// Returns the paths of the files and of the directories in a directory, in no order; none if it is
    /// missing.
    func contents(
        of directory: DiskPath
    ) throws(DiskError) -> (files: [DiskPath], directories: [DiskPath])

    /// Returns the highest of the decimal numbers up to `limit` that are names in the directories in a
    /// directory; nil if there is none.
    func highestNumber(
        below directory: DiskPath, limit: UInt64
    ) throws(DiskError) -> UInt64?

    /// Returns once all earlier writes survive power loss: bytes, names and removals. Linux:
    /// `syncfs`.
    func synchronizeAll() throws(DiskError)

    /// Returns the total and available bytes of the file system with the state directory.
    func space() throws(DiskError) -> StorageSpace
}

/// One open file, which is closed with its last reference.
package protocol DiskFile: AnyObject, Sendable {
    /// Reads into `buffer`, starting at `offset`, until the buffer is full or the file ends.
    ///
    /// - Returns: The number of bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError)
        -> Int

    /// Writes all of `bytes` at `offset`, extending the file if necessary.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError)

    /// Sets the length in bytes; new bytes are zeros. POSIX: `ftruncate`.
    func truncate(to size: UInt64) throws(DiskError)

    /// Releases the space of a range, whose bytes become zeros; the length stays. Blocks that are
    /// only partly in the range keep their space. Linux: `FALLOC_FL_PUNCH_HOLE`.
    ///
    /// - Throws: `.failed` if the file system cannot.
    func punchHole(_ range: Range<UInt64>) throws(DiskError)

    /// Returns once the bytes and the file's own name survive power loss. POSIX: `fsync` of the
    /// file and of its directory.
    func synchronize() throws(DiskError)

    /// Returns if the disk has stored all bytes that left the memory since this file was opened; waits
    /// for those on their way. Cheap after ``Disk/synchronizeAll()``, which does not name the files
    /// that it failed for. Linux: `sync_file_range`.
    func requireStored() throws(DiskError)

    func status() throws(DiskError) -> DiskFileStatus

    /// Whether a range has no space on the disk, so that its bytes are zeros there. Linux: `SEEK_DATA`.
    ///
    /// - Returns: false also if the file system cannot tell.
    func isHole(_ range: Range<UInt64>) throws(DiskError) -> Bool

    /// Sets the modification time. POSIX: `futimens`.
    func setModified(_ time: Timestamp) throws(DiskError)

    /// Adds extended attributes to those of the file. POSIX: `fsetxattr`.
    ///
    /// - Throws: `.full` if the file system has no space for them, `.failed` if it keeps none.
    func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError)

    /// Returns the underlying file descriptor, for replies that splice; nil for a simulated file.
    func openDescriptor() throws(DiskError) -> (any OpenDescriptor)?

    /// Tells whether the file has holes that are about to be written, so that reading ahead of a reader
    /// would fill memory with their zeros. Linux: `POSIX_FADV_RANDOM`.
    func expectHoles(_ hasHoles: Bool)

    /// Whether a program has the file open or mapped, as the kernel lets it read the bytes without
    /// this process. Linux: `F_SETLEASE`.
    ///
    /// - Returns: nil if the file system cannot tell.
    func isOpenElsewhere() -> Bool?
}

extension Disk {
    package func awaitDescriptors() {}
}

extension DiskFile {
    package func expectHoles(_ hasHoles: Bool) {}

    package func isOpenElsewhere() -> Bool? { nil }

    package func isHole(_ range: Range<UInt64>) throws(DiskError) -> Bool { false }
}

/// A file descriptor that stays open during the lifetime of this object.
package protocol OpenDescriptor: AnyObject, Sendable {
    var rawValue: Int32 { get }
}
