package import Engine
import Synchronization

/// Moves, which a store may make in several steps.
extension SimulatedProvider {
    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "move \"\(key)\" to \"\(destination)\""
        try await arrive(attempt)
        let kind = state.withLock { try? $0.tree.node(key).kind }
        if kind == .directory, etag == nil, !settings.movesDirectoriesAtOnce {
            return try await moveInSteps(key, to: destination, attempt, continues: continues)
        }
        guard let kind, kind != .directory, !settings.movesFilesAtOnce else {
            return try change(attempt) { tree throws(Tree.Failure) in
                try tree.move(key, etag: etag, to: destination, base: base)
            }
        }
        let copy = try change(attempt) { tree throws(Tree.Failure) in
            try tree.copy(key, etag: etag, to: destination, base: base)
        }
        try await pause(attempt)
        try step(attempt) { tree throws(Tree.Failure) in
            try tree.delete(key, kind: kind, etag: etag)
        }
        return copy
    }

    /// Moves a directory object by object. What is moved stays so, whatever comes in between.
    private func moveInSteps(
        _ key: ObjectKey, to destination: ObjectKey, _ attempt: String, continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        try step(attempt) { tree throws(Tree.Failure) in
            guard !destination.names.starts(with: key.names) else {
                throw Tree.Failure(.unsupported, "a directory cannot move below itself")
            }
            let old = try tree.node(key)
            if continues, let there = try? tree.node(destination) {
                guard there.kind == .directory else { throw Tree.Failure(.exists, "no directory") }
                return
            }
            let node = Tree.Node(
                kind: .directory, modified: old.modified, mode: old.mode,
                extendedAttributes: old.extendedAttributes)
            _ = try tree.create(node, at: destination)
        }
        while true {
            try await pause(attempt)
            let child = try moveChild(of: key, to: destination, attempt)
            if child == .none { break }
            guard case .copied(let copied) = child else { continue }
            try await pause(attempt)
            try step(attempt) { tree throws(Tree.Failure) in
                try tree.delete(key.appending(copied.name), kind: copied.kind, etag: copied.etag)
            }
        }
        return try change(attempt) { tree throws(Tree.Failure) in try tree.object(destination) }
    }

    private enum MovedChild: Equatable {
        case none
        case moved
        /// Its original is still to be deleted.
        case copied(RemoteObject)
    }

    /// Moves the first child of a directory, or removes the directory where it has none.
    private func moveChild(
        of key: ObjectKey, to destination: ObjectKey, _ attempt: String
    ) throws(ProviderError) -> MovedChild {
        try step(attempt) { tree throws(Tree.Failure) in
            guard let child = try tree.children(of: key).first else {
                try tree.delete(key, kind: .directory, etag: nil)
                return .none
            }
            let (from, to) = (key.appending(child.name), destination.appending(child.name))
            // Directories move whole: one level is as good as many.
            if settings.movesFilesAtOnce || child.kind == .directory {
                _ = try tree.move(from, etag: child.etag, to: to, base: .absent)
                return .moved
            }
            // It may be there of a move that was cut short.
            if (try? tree.object(to)) != child { try tree.copyVersion(from, to: to) }
            return .copied(child)
        }
    }
}
