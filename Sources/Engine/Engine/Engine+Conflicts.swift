import Synchronization

/// Which of two conflicting versions keeps the name.
package enum ConflictResolution: String, CaseIterable, Sendable {
    /// The local version; it replaces the remote's.
    case mine
    /// The remote's version; the local one is removed.
    case theirs
    /// Both stay as they are, and the conflict is over.
    case both
}

/// The result of a resolved conflict.
package struct SettledConflict: Hashable, Sendable {
    /// The path, from the mount point on, of the version that keeps the original name; for `.both`, that
    /// of the local version beside it.
    package var path: String
    /// Whether the version that was given up is in the trash, or on its way to it; nil if there was none.
    package var isInTrash: Bool?
}

extension Engine {
    /// Resolves a conflict. The version that is given up goes to the trash, if all its bytes are local and fit
    /// it.
    ///
    /// - Parameter inode: Either version.
    /// - Throws: `.changedRemotely` if the local version is to be kept, but bytes of it are lost;
    ///   `.noConflict` if only one version has the name; `.ambiguous` if several local
    ///   versions lie beside the remote's and none of them was named; `.isDirectory` if one version
    ///   is a directory, which cannot be replaced in one step.
    package func settleConflict(
        _ inode: InodeNumber, keeping resolution: ConflictResolution
    ) async throws(EngineError) -> SettledConflict {
        let (ours, original) = try conflict(at: inode)
        try completed(do: requireReplaceable(ours, original, keeping: resolution))
        let theirs = try completed(
            do: store.read { try $0.dirent(original, in: ours.parent)?.inode })
        var givenUp: InodeNumber?
        switch resolution {
        case .mine:
            givenUp = theirs
            try await retrying { () throws(Blocked) in
                try rename(
                    ours.name, in: ours.parent, to: original, in: ours.parent, mode: .replace,
                    keepsCopy: true)
            }
        case .theirs:
            givenUp = ours.inode
            try await retrying { () throws(Blocked) in
                guard try store.read({ try $0.dirent(original, in: ours.parent) }) != nil else {
                    throw .failure(
                        .notFound, "keep the remote's \"\(original)\"",
                        remedy: "it no longer exists; keep mine")
                }
                try remove(ours.name, in: ours.parent, isDirectory: false, keepsCopy: true)
            }
        case .both:
            try completed(do: store.write { try $0.removeConflict(ours.inode) })
            local.agenda.changes.notify()
        }
        if resolution != .both {
            // The kernel did not ask for this change, and has either name cached.
            local.kernelCache.announce([
                .name(ours.name, ours.parent), .name(original, ours.parent), .inode(ours.parent),
                .inode(ours.inode),
            ])
        }
        return try completed(
            do: store.read { database in
                let parent = ObjectKey(try database.path(of: ours.parent))
                return SettledConflict(
                    path: parent.appending(resolution == .both ? ours.name : original).description,
                    isInTrash: try givenUp.map { try database.missingInTrash(among: [$0]).isEmpty })
            })
    }

    /// A directory may contain items that are not part of the decision: the user removes it. A local version
    /// of which bytes are lost does not take the place of the remote one, which is complete.
    private func requireReplaceable(
        _ ours: Dirent, _ original: FileName, keeping resolution: ConflictResolution
    ) throws(Blocked) {
        let isWhole = local.files.existing(ours.inode)?.state.withLock(\.isWhole) ?? false
        let (isOurs, isTheirs, isLost) = try store.read { database in
            let (mine, theirs) = (
                try database.inode(ours.inode),
                try database.inode(named: original, in: ours.parent)
            )
            return (
                mine?.kind == .directory, theirs.map { $0.kind == .directory },
                try mine?.presence == .partial && !isWhole
                    && database.synced(ours.inode)?.etag == nil
            )
        }
        if isLost, resolution == .mine {
            throw .failure(
                .changedRemotely,
                "keep \"\(ours.name)\", of which bytes are missing, as \"\(original)\"",
                remedy: "keep theirs or both; `apus status` tells which bytes are here")
        }
        let isImpossible =
            switch resolution {
            case .mine: isTheirs.map { $0 != isOurs } ?? false
            case .theirs: isOurs
            case .both: false
            }
        guard isImpossible else { return }
        throw .failure(
            .isDirectory, "keep only \(resolution) of \"\(original)\" and \"\(ours.name)\"",
            remedy: "remove or rename the directory or the file that you do not need, or keep both")
    }

    /// Returns the name of the local version, and its original name.
    private func conflict(
        at inode: InodeNumber
    ) throws(EngineError) -> (ours: Dirent, original: FileName) {
        try completed { () throws(Blocked) in
            try store.read { database in
                guard let dirent = try database.dirent(of: inode) else {
                    throw Blocked.failure(.notFound, "find a conflict of inode \(inode)")
                }
                if let original = try database.conflictOriginal(of: inode) {
                    return (dirent, original)
                }
                let versions = try database.conflicts(with: dirent)
                guard let ours = versions.first else {
                    throw Blocked.failure(
                        .noConflict, "resolve \"\(dirent.name)\"",
                        remedy: "`apus status` lists the conflicts")
                }
                guard versions.count == 1 else {
                    throw Blocked.failure(
                        .ambiguous,
                        "choose one of \(versions.count) versions of \"\(dirent.name)\"",
                        remedy: "name one of the versions: "
                            + versions.map { "\"\($0.name)\"" }.joined(separator: ", "))
                }
                return (ours, dirent.name)
            }
        }
    }
}
