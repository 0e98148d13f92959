import Engine

/// One remote that rclone has opened: looks at objects there, and changes one at a time.
struct RcloneRemote: Sendable {
    let client: RcloneClient
    /// `NAME:PATH`.
    let fileSystem: String
    let opened: RcloneFileSystem

    var features: RcloneFileSystem.Features { opened.features }

    /// For messages: `rclone's NAME`.
    var name: String { "rclone's \(fileSystem.prefix { $0 != ":" })" }

    var meaning: RcloneMeaning {
        RcloneMeaning(
            keepsEmptyDirectories: features.keepsEmptyDirectories, cheapHash: opened.cheapHash)
    }

    // MARK: Names

    /// Returns a key as rclone writes it; nil if rclone cannot store it, or hides it.
    func path(of key: ObjectKey) -> String? {
        var names: [String] = []
        for name in key.names {
            guard let text = RcloneName.encode(name) else { return nil }
            names.append(text)
        }
        return names.joined(separator: "/")
    }

    /// - Throws: `.missing` for a name that cannot exist there.
    func existingPath(of key: ObjectKey) throws(ProviderError) -> String {
        guard let path = path(of: key) else { throw Self.missing }
        return path
    }

    /// - Throws: `.unsupported` for a name that cannot be stored.
    func newPath(_ key: ObjectKey) throws(ProviderError) -> String {
        guard let path = path(of: key) else {
            throw ProviderError(
                .unsupported, "rclone cannot store this name",
                remedy: "rename it, then it is sent")
        }
        return path
    }

    /// Returns a directory as a remote of its own.
    func below(_ path: String) -> String {
        fileSystem + (fileSystem.hasSuffix(":") || fileSystem.hasSuffix("/") ? "" : "/") + path
    }

    func input(_ path: String? = nil) -> RcloneInput {
        RcloneInput(fs: fileSystem, remote: path)
    }

    // MARK: Looking

    /// Looks for a file that never exists: rclone looks at a directory, as the root, by listing it.
    func probe() async throws(ProviderError) {
        do {
            let _: RcloneStat = try await client.call(
                "operations/stat",
                RcloneInput(
                    fs: fileSystem, remote: RcloneHidden.absent,
                    opt: RcloneInput.Options(filesOnly: true)), within: .seconds(60))
        } catch {
            switch error.kind {
            case .missing, .wrongKind: return
            // Perhaps words for a missing file that are not known here.
            case .unreachable: _ = try await object(at: .root)
            default: throw error
            }
        }
    }

    /// - Returns: nil if nothing has this key.
    func object(at key: ObjectKey) async throws(ProviderError) -> RemoteObject? {
        guard let path = path(of: key) else { return nil }
        let answer: RcloneStat
        do {
            answer = try await client.call("operations/stat", lookInput(path), within: .seconds(60))
        } catch {
            // Below a file, for instance, or below a missing directory.
            guard [.missing, .wrongKind].contains(error.kind) else { throw error }
            return nil
        }
        guard let item = answer.item, let name = key.names.last ?? FileName("root") else {
            return nil
        }
        guard let object = meaning.object(item, name: name) else {
            throw ProviderError(
                .unsupported, "\(self.name) does not tell the size of \"\(key)\"",
                remedy: "use another name, or a setting of the remote that makes it tell sizes; "
                    + "the existing file is left alone")
        }
        return object
    }

    /// - Throws: `.missing`.
    func requireObject(at key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        guard let found = try await object(at: key) else { throw Self.missing }
        return found
    }

    /// Returns all that a directory contains, with the hashes that cost nothing.
    func listing(of path: String) async throws(ProviderError) -> RcloneListing {
        let body = try await client.list(lookInput(path))
        return try RcloneListing(body, meaning)
    }

    /// Returns the items in a directory of few, without hashes.
    func items(in path: String) async throws(ProviderError) -> [RcloneItem] {
        let answer: RcloneList = try await client.call(
            "operations/list", lookInput(path, detailed: false))
        return answer.list ?? []
    }

    private func lookInput(_ path: String, detailed: Bool = true) -> RcloneInput {
        let hash = detailed ? opened.cheapHash : nil
        return RcloneInput(
            fs: fileSystem, remote: path,
            opt: RcloneInput.Options(
                showHash: hash.map { _ in true }, hashTypes: hash.map { [$0] }))
    }

    // MARK: Checks before a change

    /// - Throws: `.missing`, `.wrongKind`, `.changed`.
    @discardableResult
    func requireVersion(
        _ etag: ETag, of key: ObjectKey
    ) async throws(ProviderError) -> RemoteObject {
        let found = try await requireObject(at: key)
        guard found.kind == .file else {
            throw ProviderError(.wrongKind, "it is a directory")
        }
        guard found.etag == etag else {
            throw ProviderError(.changed, "it is another version")
        }
        return found
    }

    /// - Throws: `.exists`, `.missing`, `.changed`, `.wrongKind`.
    func requireBase(_ base: BaseVersion, at key: ObjectKey) async throws(ProviderError) {
        switch base {
        case .version(let etag):
            try await requireVersion(etag, of: key)
        case .absent:
            guard try await object(at: key) == nil else { throw Self.exists }
            try await requireParent(of: key)
        }
    }

    /// Checks the parent, since rclone would create missing directories.
    func requireParent(of key: ObjectKey) async throws(ProviderError) {
        guard let parent = key.parent, !parent.names.isEmpty else { return }
        guard try await object(at: parent)?.kind == .directory else {
            throw ProviderError(.missing, "there is no directory \"\(parent)\"")
        }
    }

    // MARK: Changing

    /// Calls a function that changes one object.
    func change(_ function: String, _ path: String) async throws(ProviderError) {
        try await client.change(function, input(path))
    }

    func moveFile(_ path: String, to destination: String) async throws(ProviderError) {
        try await client.change(
            "operations/movefile",
            RcloneInput(
                srcFs: fileSystem, srcRemote: path, dstFs: fileSystem, dstRemote: destination))
    }

    /// Deletes a file.
    func deleteFile(_ path: String) async throws(ProviderError) {
        let _: RcloneNothing = try await client.call("operations/deletefile", input(path))
    }

    /// Cleans up after a failure, even if the task is cancelled.
    func removeLeftover(_ path: String) async {
        await Task { try? await deleteFile(path) }.value
    }

    // MARK: Failures

    static var missing: ProviderError {
        ProviderError(.missing, "nothing has this name")
    }

    static var exists: ProviderError {
        ProviderError(.exists, "something has this name")
    }

    static var changedMeanwhile: ProviderError {
        ProviderError(.changed, "it was changed at this moment")
    }
}
