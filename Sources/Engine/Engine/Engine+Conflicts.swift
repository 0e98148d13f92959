import GRDB
import Logging
import Synchronization

/// Which version keeps the name that both sides' versions had.
package enum ConflictResolution: String, CaseIterable, Sendable {
    /// The one that was made here: the remote's is replaced.
    case mine
    /// The remote's: ours is removed.
    case theirs
    /// Both stay as they are, and it is no conflict any more.
    case both
}

extension Engine {
    /// Ends a conflict as a person decides.
    ///
    /// - Parameter inode: Either version.
    /// - Returns: The path, from the mount point on, of the version that the decision leaves under
    ///   the original name; for `.both` that of ours beside it.
    /// - Throws: `.noConflict` where only one version has the name; `.ambiguous` where several
    ///   versions of ours lie beside the remote's and none of them was named; `.isDirectory` where one
    ///   version is a directory, which no other takes the place of in one step.
    package func settleConflict(
        _ inode: InodeNumber, keeping resolution: ConflictResolution
    ) async throws(EngineError) -> String {
        let (ours, original) = try conflict(at: inode)
        try completed { () throws(Halt) in
            try requireReplaceable(ours, original, keeping: resolution)
        }
        switch resolution {
        case .mine:
            try await completing { () throws(Halt) in
                try rename(
                    ours.name, in: ours.parent, to: original, in: ours.parent, mode: .replace)
            }
        case .theirs:
            try await completing { () throws(Halt) in
                guard try store.read({ try $0.dirent(original, in: ours.parent) }) != nil else {
                    throw .failure(
                        .notFound, "keep the remote's \"\(original)\"",
                        remedy: "it is gone meanwhile; keep mine")
                }
                try unlink(ours.name, in: ours.parent)
            }
        case .both:
            try completed { () throws(Halt) in
                try store.write { try $0.removeConflict(ours.inode) }
            }
            local.agenda.changes.ring()
        }
        if resolution != .both {
            // The kernel did not ask for this change, and has either name cached.
            local.kernelCache.announce([
                .name(ours.name, ours.parent), .name(original, ours.parent), .inode(ours.parent),
            ])
        }
        let parent = try completed { () throws(Halt) in
            try store.read { try $0.path(of: ours.parent) }
        }
        return ObjectKey(parent).appending(resolution == .both ? ours.name : original).description
    }

    /// A directory may hold much that nobody has decided on: it goes by hand.
    private func requireReplaceable(
        _ ours: Dirent, _ original: FileName, keeping resolution: ConflictResolution
    ) throws(Halt) {
        let (isOurs, isTheirs) = try store.read { database in
            let theirs = try database.inode(named: original, in: ours.parent)
            return (
                try database.inode(ours.inode)?.kind == .directory,
                theirs.map { $0.kind == .directory }
            )
        }
        let isImpossible =
            switch resolution {
            case .mine: isTheirs.map { $0 != isOurs } ?? false
            case .theirs: isOurs
            case .both: false
            }
        guard isImpossible else { return }
        throw .failure(
            .isDirectory, "keep \(resolution) of \"\(original)\" and \"\(ours.name)\" alone",
            remedy: "remove or rename the directory or the file that you do not want, or keep both")
    }

    /// The name of our version, and the one that it had.
    private func conflict(
        at inode: InodeNumber
    ) throws(EngineError) -> (ours: Dirent, original: FileName) {
        try completed { () throws(Halt) in
            try store.read { database in
                guard let dirent = try database.dirent(of: inode) else {
                    throw Halt.failure(.notFound, "find a conflict of inode \(inode)")
                }
                if let original = try database.conflictOriginal(of: inode) {
                    return (dirent, original)
                }
                let versions = try database.conflicts(with: dirent)
                guard let ours = versions.first else {
                    throw Halt.failure(
                        .noConflict, "resolve \"\(dirent.name)\"",
                        remedy: "`apus status` lists the conflicts")
                }
                guard versions.count == 1 else {
                    throw Halt.failure(
                        .ambiguous, "choose among \(versions.count) versions of \"\(dirent.name)\"",
                        remedy: "name one of the versions: "
                            + versions.map { "\"\($0.name)\"" }.joined(separator: ", "))
                }
                return (ours, dirent.name)
            }
        }
    }

    /// Runs local work that needs nothing of the remote.
    private func completed<Value>(
        _ work: () throws(Halt) -> Value
    ) throws(EngineError) -> Value {
        do throws(Halt) {
            return try work()
        } catch {
            throw error.failure
        }
    }
}
