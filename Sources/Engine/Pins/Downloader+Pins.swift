import Synchronization

extension Downloader {
    /// Fetches what is missing of a file, in the order of the offsets, and records it in the database, unless
    /// the file is open: after a kill, the fetch continues there.
    ///
    /// - Parameters:
    ///   - mayContinue: Whether to go on, asked a few times in a large file.
    ///   - arrived: Receives the space of the bytes that have arrived since the last call.
    /// - Returns: Whether the file is whole; false if `mayContinue` has ended the fetch.
    /// - Throws: `.outOfSpace` if the cache has no room; errors of the remote.
    func fetchWhole(
        _ file: PinnedFile, while mayContinue: () -> Bool, arrived: (UInt64) -> Void
    ) async throws -> Bool {
        let pieceBytes = content.space.cache.pinBytes
        var missing = file.bytes - min(file.bytes, file.bytesHere)
        var offset: UInt64 = 0
        while offset < file.size {
            guard mayContinue() else { return false }
            let step = offset..<min(file.size, offset + 2 * pieceBytes)
            guard try await fetch(file.inode, step, pieceBytes: pieceBytes) else {
                throw EngineError(
                    .outOfSpace, "fetch inode \(file.inode)", remedy: "evict or unpin files")
            }
            offset = step.upperBound
            let left = offset == file.size ? 0 : min(missing, file.bytes - offset)
            arrived(missing - left)
            missing = left
        }
        return true
    }

    /// Fetches the missing bytes of a range, its pieces side by side.
    ///
    /// - Returns: Whether they are local; false if the cache has no room.
    private func fetch(
        _ inode: InodeNumber, _ range: Range<UInt64>, pieceBytes: UInt64
    ) async throws -> Bool {
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for piece in range.pieces(of: Int(pieceBytes)) {
                group.addTask { try await self.fetch(file, piece, for: .pin, isReader: false) }
            }
            try await group.waitForAll()
        }
        return file.state.withLock { state in
            state.present.contains(
                min(range.lowerBound, state.size)..<min(range.upperBound, state.size))
        }
    }
}
