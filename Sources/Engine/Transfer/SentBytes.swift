/// Counts the bytes sent by uploads, each byte of a version once, however often an upload is
/// interrupted and resumed.
struct SentBytes {
    /// Since the start of the process.
    private(set) var total: UInt64 = 0

    private struct Upload {
        let generation: Int64
        /// The bytes counted so far; nil until the bytes sent by an earlier process are known.
        var counted: UInt64?
    }

    /// Running and interrupted uploads.
    private var uploads: [InodeNumber: Upload] = [:]
    /// Above this number, interrupted uploads are counted from the start again.
    private static let uploadsMax = 4_096

    /// Starts counting an upload, or continues counting the same version.
    ///
    /// - Parameter goesOn: Whether an earlier attempt left bytes at the store; the first call of
    ///   ``note(_:of:)`` gives their number.
    mutating func begin(_ inode: InodeNumber, generation: Int64, goesOn: Bool) {
        if uploads[inode]?.generation == generation { return }
        if uploads.count >= Self.uploadsMax { uploads.removeAll() }
        uploads[inode] = Upload(generation: generation, counted: goesOn ? nil : 0)
    }

    /// - Parameter sent: The bytes of the upload that are at the store.
    mutating func note(_ sent: UInt64, of inode: InodeNumber) {
        guard let upload = uploads[inode] else { return }
        let counted = upload.counted ?? sent
        total += sent > counted ? sent - counted : 0
        uploads[inode]?.counted = max(sent, counted)
    }

    mutating func end(_ inode: InodeNumber) {
        uploads[inode] = nil
    }
}
