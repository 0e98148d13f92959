package import Engine

/// Changes by another client of the store. They are immediate and have no faults.
extension SimulatedProvider {
    /// Creates or replaces a file.
    @discardableResult
    package func otherClientWrites(
        _ key: ObjectKey, _ bytes: [UInt8], mode: UInt16 = 0o644
    ) throws(ProviderError) -> RemoteObject {
        // Simulated time stands still between two steps; no two real clients write in the same
        // microsecond.
        let now = clock.wallTime
        let modified = Timestamp(nanoseconds: now.nanoseconds + 10_000)
        let attributes = ObjectAttributes(modified: modified, mode: mode)
        return try edit { tree throws(ProviderError) in
            let base = (try? tree.node(key).etag).map(BaseVersion.version) ?? .absent
            return try tree.write(key, bytes: bytes, attributes: attributes, base: base)
        }
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
