/// Counts the bytes that uploads have sent, each byte of a version once, however often an upload is
/// cut short and goes on.
struct SentBytes {
    /// Since the start of the process.
    private(set) var total: UInt64 = 0

    private struct Upload {
        let generation: Int64
        /// Up to here it is counted; nil until it is known what an earlier process had sent.
        var counted: UInt64?
    }

    /// Those under way, and those that were cut short.
    private var uploads: [InodeNumber: Upload] = [:]
    /// Of more uploads that were cut short, some are counted anew.
    private static let uploadsMax = 4_096

    /// Begins to count an upload, or goes on with the last try to send the same version.
    ///
    /// - Parameter goesOn: Whether an earlier try has left something at the store, which the first
    ///   call of ``note(_:of:)`` tells.
    mutating func begin(_ inode: InodeNumber, generation: Int64, goesOn: Bool) {
        if uploads[inode]?.generation == generation { return }
        if uploads.count >= Self.uploadsMax { uploads.removeAll() }
        uploads[inode] = Upload(generation: generation, counted: goesOn ? nil : 0)
    }

    /// - Parameter sent: What the store has of the upload.
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
