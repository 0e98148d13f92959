/// The local storage that holds content files, seen from the state directory.
///
/// Calls block, and run on threads that may: the FUSE threads and the engine's executor.
package protocol Disk: Sendable {
    /// Opens a file for reading and writing, and creates it, empty and mode 0600, where it is
    /// missing, together with its parent directories. POSIX: `open` with `O_RDWR | O_CREAT`.
    func open(_ path: DiskPath) throws(DiskError) -> any DiskFile

    /// Makes a new file at `path` with the bytes that `file` has now, replacing what was there.
    ///
    /// Shares the bytes where the file system can (`FICLONE`), copies them with their holes
    /// elsewhere. The caller sees to it that nobody writes to `file` meanwhile.
    ///
    /// - Throws: `.full` also for a copy that would not leave ``StorageSpace/reserve``.
    func clone(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> any DiskFile

    /// Gives a file another path, replacing what was there; open handles go on with it.
    ///
    /// - Throws: `.missing`.
    func move(_ path: DiskPath, to destination: DiskPath) throws(DiskError)

    /// Removes a file; open ones keep their bytes. A missing file is not an error.
    func remove(_ path: DiskPath) throws(DiskError)

    /// The paths of all files below a directory, in no order; none where it is missing.
    func files(below directory: DiskPath) throws(DiskError) -> [DiskPath]

    /// Returns once everything that was written before survives power loss: bytes, names and
    /// removals. Linux: `syncfs`.
    func synchronizeAll() throws(DiskError)

    /// Total and available bytes of the file system that holds the state directory.
    func space() throws(DiskError) -> StorageSpace
}

/// One open file. It closes when the last reference goes.
package protocol DiskFile: AnyObject, Sendable {
    /// Reads into `buffer` from `offset` on until the buffer is full or the file ends.
    ///
    /// - Returns: The bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError)
        -> Int

    /// Writes all of `bytes` at `offset`, growing the file where it reaches beyond its end.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError)

    /// Sets the length in bytes; new bytes are zeros. POSIX: `ftruncate`.
    func truncate(to size: UInt64) throws(DiskError)

    /// Returns once the bytes and the file's own name survive power loss. POSIX: `fsync` of the
    /// file and of its directory.
    func synchronize() throws(DiskError)

    func status() throws(DiskError) -> DiskFileStatus

    /// Sets the modification time. POSIX: `futimens`.
    func setModified(_ time: Timestamp) throws(DiskError)

    /// Gives the file extended attributes, beside those that it has. POSIX: `fsetxattr`.
    ///
    /// - Throws: `.full` for what the file system has no room for, `.failed` where it keeps none.
    func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError)

    /// The file descriptor beneath, for replies that splice; nil for a simulated file.
    func openDescriptor() throws(DiskError) -> (any OpenDescriptor)?
}

/// A file descriptor that stays open for as long as this object lives.
package protocol OpenDescriptor: AnyObject, Sendable {
    var rawValue: Int32 { get }
}
