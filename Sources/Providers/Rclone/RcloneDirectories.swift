import Engine

/// Creates and removes directories, which some remotes have only as parts of file names.
struct RcloneDirectories: Sendable {
    let remote: RcloneRemote
    let spool: RcloneSpool

    /// - Throws: `.exists`, `.missing` if the parent is gone.
    func create(_ key: ObjectKey, _ path: String) async throws(ProviderError) {
        guard !key.names.isEmpty, try await remote.object(at: key) == nil else {
            throw RcloneRemote.exists
        }
        try await remote.requireParent(of: key)
        if remote.features.keepsEmptyDirectories {
            try await remote.change("operations/mkdir", path)
        } else {
            // Without a file in it, the directory would not exist.
            try await RcloneUpload.makeEmpty("\(path)/\(RcloneHidden.marker)", on: remote, spool)
        }
    }

    /// Removes a directory that contains only hidden files.
    ///
    /// - Throws: `.notEmpty`.
    func removeEmpty(_ path: String) async throws(ProviderError) {
        let items = try await remote.items(in: path)
        guard items.allSatisfy({ RcloneHidden.isHidden($0.name) }) else {
            throw ProviderError(.notEmpty, "the directory is not empty")
        }
        for item in items {
            try await remote.change("operations/deletefile", "\(path)/\(item.name)")
        }
        do {
            try await remote.change("operations/rmdir", path)
        } catch {
            // A directory that is only a part of file names went with the last file.
            guard error.kind == .missing, !remote.features.keepsEmptyDirectories else {
                throw error
            }
        }
    }
}
