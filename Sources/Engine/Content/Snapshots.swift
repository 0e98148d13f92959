import Logging
import Synchronization

extension EngineConfiguration {
    var longWriterRules: LongWriter.Rules {
        LongWriter.Rules(interval: longWriterInterval, pause: longWriterPause)
    }
}

/// The snapshots of files for uploads (I3).
struct Snapshots: Sendable {
    let configuration: EngineConfiguration
    let disk: any Disk
    let files: OpenFileTable
    let pools: WorkPools
    let logger: Logger

    /// Freezes the current content of a file.
    func begin(
        _ inode: InodeNumber, generation: Int64, _ state: inout OpenFile.State
    ) -> FrozenContent {
        let frozen = FrozenContent(
            state.file, size: state.size, on: disk,
            copyPath: DiskPath("\(StateFiles.frozenFolder)/\(inode)-\(generation)"),
            pieceBytes: configuration.snapshotPieceBytes)
        state.frozen.append(frozen)
        if state.writers > 0 { share(&state) }
        return frozen
    }

    /// Whether a file that stays open for writing is uploaded only in a pause of its writers.
    func awaitsPause(_ state: OpenFile.State) -> Bool {
        state.writers > 0 && state.isChanged && !disk.sharesBytes
            && state.size > configuration.longWriterBytesMax
    }

    func end(_ frozen: FrozenContent, of file: OpenFile) {
        file.state.withLock { state in state.frozen.removeAll { $0 === frozen } }
        let end = DiskError(
            .failed, attempt: "read a frozen file", reason: "its upload has ended")
        guard let error = frozen.end(end) else { return }
        // The next start removes it.
        logger.warning("frozen content not removed", metadata: ["reason": "\(error.reason)"])
    }

    /// Switches every upload that reads the content file to a clone of it, if the disk can share
    /// bytes.
    func share(_ state: inout OpenFile.State) {
        for frozen in state.frozen {
            do throws(DiskError) {
                try frozen.share()
            } catch {
                abandon(frozen, error)
            }
        }
    }

    /// Requires that no upload reads a range of the content file any more, so that it may change.
    func requirePreserved(_ range: Range<UInt64>, of file: OpenFile) throws(Blocked) {
        try file.withState { state throws(Blocked) in
            try requirePreserved(range, file.inode, &state)
        }
    }

    func requirePreserved(
        _ range: Range<UInt64>, _ inode: InodeNumber, _ state: inout OpenFile.State
    ) throws(Blocked) {
        if state.frozen.isEmpty { return }
        share(&state)
        for frozen in state.frozen {
            let count = frozen.bytesAtRisk(in: range)
            if count == 0 { continue }
            // A copy of so much would take long, and the truncated version is outdated anyway.
            if count > configuration.snapshotCutBytesMax {
                abandon(
                    frozen,
                    DiskError(
                        .failed, attempt: "copy \(count) bytes of the content to be uploaded",
                        reason: "the file is truncated; its new content is uploaded instead"))
                continue
            }
            throw .awaits(.copy(inode, range))
        }
    }

    /// Copies bytes that uploads still have to send, before they change. If that fails, the upload is
    /// abandoned and repeated later; the change can be made.
    func preserve(_ inode: InodeNumber, _ range: Range<UInt64>) async {
        guard let file = files.existing(inode) else { return }
        await withTaskExecutorPreference(pools.content) {
            for frozen in file.state.withLock(\.frozen) {
                do throws(DiskError) {
                    try await frozen.preserve(range)
                } catch {
                    noteAbandoned(error)
                }
            }
        }
    }

    /// - Throws: The failure of the disk, or of a snapshot that was abandoned; `CancellationError`.
    func digest(of frozen: FrozenContent) async throws -> ContentDigest {
        try await withTaskExecutorPreference(pools.content) { try await frozen.digest() }
    }

    private func abandon(_ frozen: FrozenContent, _ error: DiskError) {
        frozen.end(error)
        noteAbandoned(error)
    }

    private func noteAbandoned(_ error: DiskError) {
        logger.warning("upload abandoned for a writer", metadata: ["reason": "\(error.reason)"])
    }
}
