import Engine

extension FolderDirectory {
    /// What is at `name`, as the engine sees it.
    ///
    /// - Throws: `.missing`, also for sockets, devices and pipes, which no cloud holds.
    func object(_ name: FileName) throws(FolderFailure) -> RemoteObject {
        guard let object = try objectIfAny(name) else {
            throw FolderFailure(.missing, "it is neither file, directory nor symbolic link")
        }
        return object
    }

    /// The same; nil for sockets, devices and pipes.
    ///
    /// - Throws: `.missing`.
    func objectIfAny(_ name: FileName) throws(FolderFailure) -> RemoteObject? {
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
