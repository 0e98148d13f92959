package import Engine
import Synchronization

/// Changes by another client of the store. They are immediate and have no faults.
extension SimulatedProvider {
    /// Creates or replaces a file.
    ///
    /// - Parameter modified: By default now.
    @discardableResult
    package func otherClientWrites(
        _ key: ObjectKey, _ bytes: [UInt8], mode: UInt16 = 0o644, modified: Timestamp? = nil
    ) throws(ProviderError) -> RemoteObject {
        // Simulated time stands still between two steps, but two clients hardly write in the same
        // microsecond; see `otherClientOverwrites` for those that do.
        let now = clock.wallTime
        let modified = modified ?? Timestamp(nanoseconds: now.nanoseconds + 10_000)
        let attributes = ObjectAttributes(modified: modified, mode: mode)
        return try edit { tree throws(ProviderError) in
            let base = (try? tree.node(key).etag).map(BaseVersion.version) ?? .absent
            return try tree.write(key, bytes: bytes, attributes: attributes, base: base)
        }
    }

    /// Replaces a file by other bytes of the same size, with the same time.
    package func otherClientOverwrites(_ key: ObjectKey, seed: UInt64) throws(ProviderError) {
        let node = try state.withLock { state throws(ProviderError) in try state.tree.node(key) }
        guard node.kind == .file, !node.bytes.isEmpty else { return }
        var bytes = ProgramBytes.make(node.bytes.count, seed: seed)
        if bytes == node.bytes { bytes[0] ^= 1 }
        try otherClientWrites(key, bytes, mode: node.mode, modified: node.modified)
    }

    @discardableResult
    package func otherClientMakesDirectory(
        _ key: ObjectKey, mode: UInt16 = 0o755
    ) throws(ProviderError) -> RemoteObject {
        let modified = clock.wallTime
        return try edit { tree throws(ProviderError) in
            try tree.create(
                Tree.Node(kind: .directory, modified: modified, mode: mode), at: key)
        }
    }

    /// Sets an extended attribute of a file or directory, or removes it.
    package func otherClientSets(
        _ name: [UInt8], of key: ObjectKey, to value: [UInt8]?
    ) throws(ProviderError) {
        try edit { tree throws(ProviderError) in
            let node = try tree.node(key)
            guard node.kind != .symlink else { return }
            var attributes = node.attributes
            attributes.extendedAttributes[name] = value
            _ = try tree.setAttributes(key, to: attributes, etag: node.etag)
        }
    }

    /// Sets mode and time of a file as a store does that keeps them in headers: its bytes stay, and
    /// with them its version.
    package func otherClientSetsHeaders(
        of key: ObjectKey, mode: UInt16, modified: Timestamp
    ) throws(ProviderError) {
        try edit { tree throws(ProviderError) in
            try tree.setHeaders(of: key, mode: mode, modified: modified)
        }
    }

    /// Deletes a file, a symbolic link, or an empty directory.
    package func otherClientDeletes(_ key: ObjectKey) throws(ProviderError) {
        try edit { tree throws(ProviderError) in
            let node = try tree.node(key)
            try tree.delete(key, kind: node.kind, etag: node.etag)
        }
    }

    /// Deletes an object; a directory with all its descendants.
    package func otherClientDeletesTree(_ key: ObjectKey) throws(ProviderError) {
        try edit { tree throws(ProviderError) in
            try tree.deleteTree(key)
        }
    }

    /// Renames any object; a file may replace a file.
    package func otherClientRenames(
        _ key: ObjectKey, to destination: ObjectKey
    ) throws(ProviderError) {
        try edit { tree throws(ProviderError) in
            let etag = try tree.node(key).etag
            let base = (try? tree.node(destination).etag).map(BaseVersion.version) ?? .absent
            _ = try tree.move(key, etag: etag, to: destination, base: base)
        }
    }
}
