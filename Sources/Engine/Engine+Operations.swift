// The operations of the file system, as the kernel asks for them. Each is synchronous, answers from
// local state, may block on the local disk, and is called from any number of threads.

extension Engine {
    /// Runs an operation to its end, fetching what it needs in between.
    ///
    /// - Throws: The operation's failure; `.unreachable` where a need cannot be met within the
    ///   deadline; `.interrupted` if the task is cancelled.
    package func completing<Value>(
        _ operation: () throws(Halt) -> Value
    ) async throws(EngineError) -> Value {
        preconditionFailure()
    }

    // MARK: Names

    /// - Throws: `.notFound`, `.notDirectory`.
    package func lookup(_ name: FileName, in parent: InodeNumber) throws(Halt) -> Attributes {
        preconditionFailure()
    }

    /// The parent of a directory, for `..`; the root is its own.
    package func parent(of directory: InodeNumber) throws(Halt) -> InodeNumber {
        preconditionFailure()
    }

    /// - Throws: `.exists`, `.notFound` if the parent is gone, `.readOnly`.
    package func createFile(
        _ name: FileName, in parent: InodeNumber, mode: UInt16, caller: Caller
    ) throws(Halt) -> Attributes {
        preconditionFailure()
    }

    package func createDirectory(
        _ name: FileName, in parent: InodeNumber, mode: UInt16, caller: Caller
    ) throws(Halt) -> Attributes {
        preconditionFailure()
    }

    package func createSymlink(
        _ name: FileName, in parent: InodeNumber, target: [UInt8], caller: Caller
    ) throws(Halt) -> Attributes {
        preconditionFailure()
    }

    package func readSymlink(_ inode: InodeNumber) throws(Halt) -> [UInt8] {
        preconditionFailure()
    }

    /// - Throws: `.isDirectory`, `.notFound`.
    package func unlink(_ name: FileName, in parent: InodeNumber) throws(Halt) {
        preconditionFailure()
    }

    /// - Throws: `.notDirectory`, `.notEmpty`, `.notFound`.
    package func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(Halt) {
        preconditionFailure()
    }

    package enum RenameMode: Sendable {
        case replace
        /// Linux: `RENAME_NOREPLACE`.
        case noReplace
    }

    /// Linux: `renameat2`.
    ///
    /// - Throws: `.notFound`, `.exists`, `.notEmpty`, `.isDirectory`, `.notDirectory`, `.invalid`
    ///   for a directory moved below itself.
    package func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName,
        in newParent: InodeNumber, mode: RenameMode
    ) throws(Halt) {
        preconditionFailure()
    }

    /// Up to `limit` names of a directory in the order of their cookies, those after `cookie`.
    ///
    /// - Parameter cookie: 0 for the first, else that of the last entry seen.
    package func entries(
        of directory: InodeNumber, after cookie: Int64, limit: Int
    ) throws(Halt) -> [DirectoryEntry] {
        preconditionFailure()
    }

    // MARK: Attributes

    package func attributes(of inode: InodeNumber) throws(Halt) -> Attributes {
        preconditionFailure()
    }

    package func setAttributes(
        of inode: InodeNumber, to change: AttributeChange
    ) throws(Halt) -> Attributes {
        preconditionFailure()
    }

    /// The value of a `user.apus.*` attribute.
    ///
    /// - Throws: `.noAttribute`.
    package func extendedAttribute(_ name: String, of inode: InodeNumber) throws(Halt) -> [UInt8] {
        preconditionFailure()
    }

    /// The names of all extended attributes that the inode has now.
    package func extendedAttributeNames(of inode: InodeNumber) throws(Halt) -> [String] {
        preconditionFailure()
    }

    /// Total and available space: the remote's where known, else the local disk's.
    package func space() throws(Halt) -> StorageSpace {
        preconditionFailure()
    }

    // MARK: Content

    package enum Access: UInt64, Sendable {
        case read = 0
        case write = 1
    }

    /// Opens a file; each success is followed by one ``release(_:access:)`` with the same access.
    ///
    /// If an upload is reading the file and `access` is `.write`, its snapshot is taken before this
    /// returns (I3).
    ///
    /// - Parameter truncating: POSIX: `O_TRUNC`.
    package func open(
        _ inode: InodeNumber, access: Access, truncating: Bool
    ) throws(Halt) {
        preconditionFailure()
    }

    /// Where to read: a descriptor-backed file, and how many bytes from the offset on are there.
    package struct ReadableRange: Sendable {
        package var file: any DiskFile
        /// 0 at and beyond the end of the file.
        package var count: Int
    }

    /// - Parameter length: The most that is wanted, in bytes.
    package func read(
        _ inode: InodeNumber, at offset: UInt64, length: Int
    ) throws(Halt) -> ReadableRange {
        preconditionFailure()
    }

    /// Writes all of `bytes`. The inode is dirty in the database before this returns (I1).
    ///
    /// - Throws: `.outOfSpace`, `.tooLarge`.
    package func write(
        _ inode: InodeNumber, _ bytes: UnsafeRawBufferPointer, at offset: UInt64
    ) throws(Halt) {
        preconditionFailure()
    }

    /// A descriptor of the file was closed: what was written survives `kill -9` from here on (I1).
    package func flush(_ inode: InodeNumber) throws(Halt) {
        preconditionFailure()
    }

    /// What was written survives power loss from here on (I1). Also for directories.
    package func synchronize(_ inode: InodeNumber) throws(Halt) {
        preconditionFailure()
    }

    /// The handle of one ``open(_:access:truncating:)`` or ``createFile(_:in:mode:caller:)`` is gone.
    package func release(_ inode: InodeNumber, access: Access) {
        preconditionFailure()
    }
}
