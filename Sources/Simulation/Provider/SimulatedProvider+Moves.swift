package import Engine
import Synchronization

/// Moves, in one or several steps.
extension SimulatedProvider {
    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        try await arrive("move \"\(key)\" to \"\(destination)\"")
        let kind = state.withLock { try? $0.tree.node(key).kind }
        if kind == .directory, etag == nil, !settings.movesDirectoriesAtOnce {
            return try await moveInSteps(
                key, to: destination, continues: continues, noteCopies)
        }
        guard let kind, kind != .directory, !settings.movesFilesAtOnce else {
            return try change(isRepeatable: true) { tree throws(ProviderError) in
                try tree.move(key, etag: etag, to: destination, base: base)
            }
        }
        // Without a nonce, nothing would tell the copy that is in the way from another client's object.
        let isRecognised = state.withLock {
            kind == .file && (nonce ?? (try? $0.tree.node(key))?.nonce) != nil
        }
        let copy = try change(isRepeatable: isRecognised) { tree throws(ProviderError) in
            if let copy = tree.existingCopy(of: key, etag: etag, at: destination, nonce: nonce) {
                return copy
            }
            return try tree.copy(key, etag: etag, to: destination, base: base, nonce: nonce)
        }
        try await pause()
        let delete = { (tree: inout Tree) throws(ProviderError) in
            try tree.delete(key, kind: kind, etag: etag)
        }
        // Some stores answer that the outcome is open, others pass on the refusal of the deletion.
        if settings.passesOnRefusals { try change(delete) } else { try step(delete) }
        return copy
    }

    /// Moves a directory object by object. Objects moved before a failure stay in the new place.
    private func moveInSteps(
        _ key: ObjectKey, to destination: ObjectKey, continues: Bool, _ noteCopies: CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        try step { tree throws(ProviderError) in
            guard !tree.isBelow(destination, key) else {
                throw ProviderError(.unsupported, "a directory cannot move below itself")
            }
            let old = try tree.node(key)
            if continues, let there = try? tree.node(destination) {
                guard there.kind == .directory else {
                    throw ProviderError(.exists, "not a directory")
                }
                return
            }
            let node = Tree.Node(
                kind: .directory, modified: old.modified, mode: old.mode,
                extendedAttributes: old.extendedAttributes)
            _ = try tree.create(node, at: destination)
        }
        var staying: Set<FileName> = []
        while true {
            try await pause()
            switch try moveChild(of: key, to: destination, except: staying) {
            case .none:
                return try change { tree throws(ProviderError) in
                    try tree.object(destination)
                }
            case .moved: break
            case .stays(let name): staying.insert(name)
            case .copied(let copied, let etag):
                if let former = copied.etag, let etag, etag != former {
                    try noteCopies([CopiedFile(path: [copied.name], former: former, etag: etag)])
                }
                try await pause()
                try step { tree throws(ProviderError) in
                    try tree.delete(
                        key.appending(copied.name), kind: copied.kind, etag: copied.etag)
                }
            }
        }
    }

    private enum MovedChild {
        case none
        case moved
        /// The original has not been deleted yet; the version of the copy.
        case copied(RemoteObject, ETag?)
        /// Another object has this name in the new place.
        case stays(FileName)
    }

    /// Moves the first child of a directory that can be moved, or removes an empty directory.
    private func moveChild(
        of key: ObjectKey, to destination: ObjectKey, except staying: Set<FileName>
    ) throws(ProviderError) -> MovedChild {
        try step { tree throws(ProviderError) in
            let children = try tree.children(of: key)
            guard let child = children.first(where: { !staying.contains($0.name) }) else {
                if children.isEmpty { try tree.delete(key, kind: .directory, etag: nil) }
                return .none
            }
            let (from, to) = (key.appending(child.name), destination.appending(child.name))
            var there = try? tree.object(to)
            there?.remoteModified = child.remoteModified
            let etag = there?.etag
            if settings.givesCopiesOtherETags, child.kind == .file,
                try tree.node(from).bytes == (try? tree.node(to))?.bytes
            {
                there?.etag = child.etag
            }
            // An interrupted move may have left it.
            let isCopied = there == child && child.kind != .directory
            guard there == nil || isCopied else { return .stays(child.name) }
            // A directory moves in one step, with all levels below it.
            if settings.movesFilesAtOnce || child.kind == .directory, !isCopied {
                _ = try tree.move(from, etag: child.etag, to: to, base: .absent)
                return .moved
            }
            if isCopied { return .copied(child, etag) }
            if settings.givesCopiesOtherETags {
                let copy = try tree.copy(from, etag: child.etag, to: to, base: .absent)
                return .copied(child, copy.etag)
            }
            try tree.copyVersion(from, to: to)
            return .copied(child, child.etag)
        }
    }
}
