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

    /// Fetches missing metadata before an operation that replaces all metadata of an object,
    /// extended attributes included.
    ///
    /// - Returns: Whether metadata was missing, so that a new plan is needed.
    func fetchMissingMetadata(before plan: SyncOperation, _ state: SyncState) async throws -> Bool {
        switch plan {
        case .upload where state.synced != nil, .setAttributes: break
        default: return false
        }
        let isLacking = try store.readInTurn { database in
            try database.inode(state.inode).map {
                try database.lacksMetadata($0, metadata.traits)
            } ?? false
        }
        guard isLacking else { return false }
        _ = try await metadata.fetchMetadata(of: state.inode)
        return true
    }

    /// Fetches the bytes that are to be sent with the rest, or that are in use locally and about to
    /// be lost on the remote.
    func fetchBytes(before plan: SyncOperation, _ state: SyncState) async throws {
        switch plan {
        case .upload(_, let replaced):
            if let replaced { try await keepBytes(ofUnlinked: replaced) }
            guard state.local?.isWhole == false else { return }
            try await fetchAll(of: state.inode)
        case .move(let replaced?): try await keepBytes(ofUnlinked: replaced.inode)
        case .delete: try await keepBytes(ofUnlinked: state.inode)
        default: return
        }
    }

    /// Fetches the missing bytes of a file before the remote loses it, if the file is still open.
    /// POSIX: an open file keeps its bytes after `unlink`.
    private func keepBytes(ofUnlinked inode: InodeNumber) async throws {
        guard let open = content.files.existing(inode), !open.state.withLock(\.isWhole) else {
            return
        }
        do {
            try await fetchAll(of: inode)
        } catch let error as ProviderError where !error.isPassing && error.kind != .cancelled {
            logger.warning(
                "unlinked file is open and incomplete",
                metadata: ["inode": "\(inode)", "reason": "\(error.reason)"])
        }
    }

    private func fetchAll(of inode: InodeNumber) async throws {
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        do {
            let size = file.state.withLock(\.size)
            try await downloader.fetch(file, 0..<size, for: .change)
        } catch let error as ProviderError {
            throw error
        } catch {
            var (reason, cause) = ("\(error)", error)
            if let known = EngineError.contained(in: error) {
                reason = known.kind.phrase
                if known.kind == .changedRemotely {
                    // These bytes cannot be fetched any more, and only the user knows the value of
                    // the others.
                    cause = EngineError(
                        known.kind, known.attempt,
                        remedy: "save the bytes that are here (\(Self.bytesHere(of: file))), then "
                            + "delete it; or write the others, and it is sent",
                        cause: known)
                }
            }
            throw ProviderError(
                .source, attempt: "fetch the rest of inode \(inode)", reason: reason,
                cause: cause)
        }
    }

    /// The local bytes of a file, for the user: the first and last ones if they are in many places.
    private static func bytesHere(of file: OpenFile) -> String {
        let (present, size) = file.state.withLock { ($0.present, $0.size) }
        let ranges = Array(present.intersection(0..<size).ranges)
        var texts = ranges.map { "\($0.lowerBound)-\($0.upperBound - 1)" }
        if texts.count > 4 { texts[2..<texts.count - 1] = ["… (\(texts.count - 3) more)"] }
        return "\(texts.isEmpty ? "none" : texts.joined(separator: ", ")) of \(size)"
    }

    /// Records the local path, present or former, by which the user knows an inode that is about to
    /// be moved aside. A removed directory may turn out to hold something unseen, and be restored:
    /// then its former name is used.
    func noteFormerName(_ plan: SyncOperation, _ state: SyncState) throws(Blocked) {
        guard plan == .moveToTemporaryName, let synced = state.synced else { return }
        try store.write { database in
            try database.notePathBeforeMove(of: state.inode)
            guard state.local == nil else { return }
            try database.noteConflict(state.inode, original: synced.name, at: clock.wallTime)
        }
    }

    /// Marks an inode as gone if a directory above it on the remote is gone.
    func noteLostPlace(_ state: SyncState) throws(Blocked) {
        guard state.synced != nil else { return }
        try merger.merge { merge in
            if try merge.database.isSynced(state.inode),
                try merge.database.remoteKey(of: state.inode) == nil
            {
                try merge.observeGone([state.inode])
            }
        }
    }
}
