import Engine

extension FolderDirectory {
    /// Returns the object at `name` for the engine.
    ///
    /// - Throws: `.missing`, also for sockets, devices and pipes, which no cloud can store.
    func object(_ name: FileName) throws(ProviderError) -> RemoteObject {
        guard let object = try objectIfAny(name) else {
            throw ProviderError(.missing, "it is not a file, directory or symbolic link")
        }
        return object
    }

    /// - Returns: nil for sockets, devices and pipes.
    /// - Throws: `.missing`.
    func objectIfAny(_ name: FileName) throws(ProviderError) -> RemoteObject? {
        let status = try status(of: name)
        guard let kind = status.kind else { return nil }
        return RemoteObject(
            name: name, kind: kind, etag: kind == .file ? status.etag : nil,
            size: kind == .file ? status.size : 0, modified: status.modified,
            mode: status.permissions, target: kind == .symlink ? try target(of: name) : nil,
            extendedAttributes: kind == .symlink
                ? nil : try FolderAttributes.read(processPath(of: name), follows: false))
    }
}
