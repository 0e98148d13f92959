import GRDB
import Logging

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
    ///   versions of ours lie beside the remote's and none of them was named; `.isDirectory` and
    ///   `.notDirectory` where one version cannot take the other's place.
    package func settleConflict(
        _ inode: InodeNumber, keeping resolution: ConflictResolution
    ) async throws(EngineError) -> String {
        let (ours, original) = try conflict(at: inode)
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
            changeBell.ring()
        }
        let parent = try completed { () throws(Halt) in
            try store.read { try $0.path(of: ours.parent) }
        }
        return ObjectKey(parent).appending(resolution == .both ? ours.name : original).description
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
