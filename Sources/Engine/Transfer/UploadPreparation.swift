import GRDB
import Logging
import Synchronization

/// Prepares an operation on the remote, before its place there is claimed.
struct UploadPreparation: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let content: ContentStore
    let metadata: MetadataFetcher
    let downloader: Downloader
    let merger: Merger
}

extension UploadPreparation {
    /// What is sent takes the place of all that the remote has of an inode, extended attributes
    /// included, so that those are asked for first where they are not known.
    ///
    /// - Returns: Whether they were, and a new plan is to be made.
    func learnDetails(
        before plan: SyncOperation, _ state: SyncState
    ) async throws(ProviderError) -> Bool {
        switch plan {
        case .upload, .setAttributes: break
        default: return false
        }
        let isLacking = try engineWork { () throws(Halt) in
            try store.read { database in
                try database.inode(state.inode).map {
                    try database.lacksDetails($0, metadata.traits)
                } ?? false
            }
        }
        guard isLacking else { return false }
        _ = try await metadata.lookAtDetails(of: state.inode)
        return true
    }

    /// Fetches what is to be sent with the rest, or is in use here and about to be lost there.
    func fetchBytes(
        before plan: SyncOperation, _ state: SyncState
    ) async throws(ProviderError) {
        switch plan {
        case .upload(_, let replaced):
            if let replaced { try await keepBytes(ofUnlinked: replaced) }
            guard state.local?.isWhole == false else { return }
            let file = try engineWork { () throws(EngineError) in
                try content.retainForTransfer(state.inode)
            }
            defer { content.releaseUse(of: state.inode) }
            try await fetchAll(of: file)
        case .move(let replaced?): try await keepBytes(ofUnlinked: replaced.inode)
        case .delete: try await keepBytes(ofUnlinked: state.inode)
        default: return
        }
    }

    /// Fetches what is missing of a file before the remote loses it, if somebody still has it open.
    /// POSIX: an open file keeps its bytes after `unlink`.
    private func keepBytes(ofUnlinked inode: InodeNumber) async throws(ProviderError) {
        guard let open = content.files.existing(inode), !open.state.withLock(\.isWhole) else {
            return
        }
        let file = try engineWork { () throws(EngineError) in try content.retainForTransfer(inode) }
        defer { content.releaseUse(of: inode) }
        do throws(ProviderError) {
            try await fetchAll(of: file)
        } catch {
            if error.isPassing || error.kind == .cancelled { throw error }
            logger.warning(
                "unlinked file is open and incomplete",
                metadata: ["inode": "\(inode)", "reason": "\(error.reason)"])
        }
    }

    private func fetchAll(of file: OpenFile) async throws(ProviderError) {
        do {
            let size = file.state.withLock(\.size)
            try await downloader.fetch(file, 0..<size, pieceBytes: 4 << 20)
        } catch let error as ProviderError {
            throw error
        } catch {
            var (reason, cause) = ("\(error)", error)
            if let known = error as? EngineError {
                reason = known.kind.phrase
                if known.kind == .changedRemotely {
                    // Nothing will bring these bytes, and only people know what the others are worth.
                    cause = EngineError(
                        known.kind, known.attempt,
                        remedy: "save what can still be read of it, then delete it", cause: known)
                }
            }
            throw ProviderError(
                .source, attempt: "fetch the rest of inode \(file.inode)", reason: reason,
                cause: cause)
        }
    }

    /// What steps aside is known to people by the path that it has here, or had. A removed directory
    /// may turn out to hold something unseen, and come back: then it is known by the name that it had.
    func noteFormerName(_ plan: SyncOperation, _ state: SyncState) throws(Halt) {
        guard plan == .moveAside, let synced = state.synced else { return }
        try store.write { database in
            try database.noteFormerPath(of: state.inode)
            guard state.local == nil else { return }
            try database.noteConflict(state.inode, original: synced.name, at: clock.wallTime)
        }
    }

    /// A directory above it, on the remote, is gone, and so is everything below that.
    func noteLostPlace(_ state: SyncState) throws(Halt) {
        guard state.synced != nil else { return }
        try merger.merge { merge in
            if try merge.database.synced(state.inode) != nil,
                try merge.database.remoteKey(of: state.inode) == nil
            {
                try merge.observeGone([state.inode])
            }
        }
    }
}
