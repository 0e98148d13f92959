import Synchronization

extension Downloader {
    /// Fetches the missing bytes of a range of a pinned file, its pieces side by side, and records them in the
    /// database, unless the file is open: after a kill, the fetch continues there.
    ///
    /// - Returns: Whether they are local; false if the cache has no room.
    func fetchPinned(
        _ inode: InodeNumber, _ range: Range<UInt64>, pieceBytes: UInt64
    ) async throws -> Bool {
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for piece in range.pieces(of: Int(pieceBytes)) {
                group.addTask { try await fetch(file, piece, for: .pin, isReader: false) }
            }
            try await group.waitForAll()
        }
        return file.state.withLock { state in
            state.present.contains(
                min(range.lowerBound, state.size)..<min(range.upperBound, state.size))
        }
    }
}
