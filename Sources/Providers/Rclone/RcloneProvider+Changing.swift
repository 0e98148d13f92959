import Engine

extension RcloneProvider {
    func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "create the directory \"\(key)\""
        let path = try newPath(key, attempt)
        try await requireKept(key, attempt)
        return try await locks.with([key]) { () async throws(ProviderError) in
            guard !key.names.isEmpty, try await look(at: key, attempt) == nil else {
                throw ProviderError(.exists, attempt: attempt, reason: "something is there")
            }
            try await requireParent(of: key, attempt)
            if features.keepsEmptyDirectories {
                try await change("operations/mkdir", path, attempt)
            } else {
                try await mark(path, attempt)
            }
            return try await stat(key)
        }
    }

    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        throw ProviderError(
            .unsupported, attempt: "create the symbolic link \"\(key)\"",
            reason: "rclone's remotes keep no symbolic links")
    }

    /// Sets the time of a file, where the cloud can do that without another upload; the remote
    /// control has no word for it, but runs rclone's command.
    func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "set the attributes of \"\(key)\""
        return try await locks.with([key]) { () async throws(ProviderError) in
            guard let etag, let path = path(of: key) else { return try await stat(key) }
            let found = try await requireVersion(etag, of: key, attempt)
            guard let resolution = traits.modifiedResolution,
                !found.modified.isWithin(resolution, of: attributes.modified)
            else { return found }
            var input = RcloneInput()
            input.command = "touch"
            input.arg = [
                "--no-create", "--timestamp", RcloneTime.format(attributes.modified),
                fileSystem + (fileSystem.hasSuffix(":") || path.isEmpty ? "" : "/") + path,
            ]
            let result: RcloneCommandResult = try await client.call(
                "core/command", input, attempt: attempt)
            let now = try await stat(key)
            // Many clouds cannot: then it stays as it was, which is no error.
            if result.error, now.etag != etag {
                throw RcloneFailure.error(attempt: attempt, reason: result.result ?? "")
            }
            let isTouched = now.modified.isWithin(resolution, of: attributes.modified)
            guard now.etag == etag || isTouched && Self.mayHoldSame(now, found) else {
                throw ProviderError(
                    .changed, attempt: attempt, reason: "it was changed at this moment")
            }
            return now
        }
    }

    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "move \"\(key)\" to \"\(destination)\""
        let newPath = try newPath(destination, attempt)
        guard !destination.names.starts(with: key.names) || destination == key else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "it would be below itself")
        }
        guard let path = path(of: key) else {
            throw ProviderError(.missing, attempt: attempt, reason: "it cannot be there")
        }
        if base == .absent, destination.names.last != key.names.last {
            try await requireKept(destination, attempt)
        }
        return try await locks.with([key, destination]) { () async throws(ProviderError) in
            guard let etag else {
                return try await moveDirectory(
                    key, path, to: destination, newPath, continues: continues, attempt)
            }
            let found = try await requireVersion(etag, of: key, attempt)
            try await requireBase(base, at: destination, attempt)
            try await moveFile(path, to: newPath, attempt)
            let moved = try await stat(destination)
            // Where a time is kept, a move keeps it.
            let isSameTime =
                traits.modifiedResolution.map { moved.modified.isWithin($0, of: found.modified) }
                ?? true
            guard isSameTime, Self.mayHoldSame(moved, found) else {
                throw ProviderError(
                    .changed, attempt: attempt, reason: "it was changed at this moment")
            }
            return moved
        }
    }

    /// Whether nothing that both tell of their bytes differs.
    static func mayHoldSame(_ one: RemoteObject, _ other: RemoteObject) -> Bool {
        guard one.kind == other.kind, one.size == other.size else { return false }
        let hashes = [one, other].compactMap { $0.etag.flatMap(hash(of:)) }
        return hashes.count < 2 || hashes[0] == hashes[1]
    }

    private func moveDirectory(
        _ key: ObjectKey, _ path: String, to destination: ObjectKey, _ newPath: String,
        continues: Bool, _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        let found = try await look(at: key, attempt)
        let isThere = try await look(at: destination, attempt)?.kind == .directory
        // What an earlier call moved is at its destination, and the rest goes there too.
        guard continues, isThere else {
            guard let found else {
                throw ProviderError(.missing, attempt: attempt, reason: "nothing is there")
            }
            guard found.kind == .directory else {
                throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a file")
            }
            try await requireBase(.absent, at: destination, attempt)
            return try await moveAll(key, path, to: destination, newPath, attempt)
        }
        guard found != nil else { return try await stat(destination) }
        return try await moveAll(key, path, to: destination, newPath, attempt)
    }

    private func moveAll(
        _ key: ObjectKey, _ path: String, to destination: ObjectKey, _ newPath: String,
        _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        var input = RcloneInput()
        input.srcFs = below(path)
        input.dstFs = below(newPath)
        input.createEmptySrcDirs = true
        input.deleteEmptySrcDirs = true
        try await client.change(
            "sync/move", input, attempt: attempt, group: RcloneUpload.newGroup())
        // Object by object, the directory itself stays.
        if try await look(at: key, attempt) != nil { try await removeEmpty(path, attempt) }
        return try await stat(destination)
    }

    func delete(
        _ key: ObjectKey, kind: FileKind, etag: ETag?
    ) async throws(ProviderError) {
        let attempt = "delete \"\(key)\""
        guard let path = path(of: key), !path.isEmpty else {
            throw ProviderError(.missing, attempt: attempt, reason: "it cannot be there")
        }
        try await locks.with([key]) { () async throws(ProviderError) in
            guard kind == .directory else {
                guard let etag else {
                    throw ProviderError(
                        .missing, attempt: attempt, reason: "there are no symbolic links")
                }
                try await requireVersion(etag, of: key, attempt)
                return try await change("operations/deletefile", path, attempt)
            }
            guard let found = try await look(at: key, attempt) else {
                throw ProviderError(.missing, attempt: attempt, reason: "nothing is there")
            }
            guard found.kind == .directory else {
                throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a file")
            }
            try await removeEmpty(path, attempt)
        }
    }

    // MARK: Directories

    /// Removes a directory in which nobody is shown anything.
    private func removeEmpty(_ path: String, _ attempt: String) async throws(ProviderError) {
        var input = RcloneInput()
        input.fs = fileSystem
        input.remote = path
        input.opt = RcloneInput.Options()
        let answer: RcloneList = try await client.call(
            "operations/list", input, attempt: attempt)
        let items = answer.list ?? []
        guard items.allSatisfy({ RcloneHidden.isHidden($0.name) }) else {
            throw ProviderError(.notEmpty, attempt: attempt, reason: "it holds something")
        }
        for item in items {
            try await change("operations/deletefile", "\(path)/\(item.name)", attempt)
        }
        do {
            try await change("operations/rmdir", path, attempt)
        } catch {
            // Where directories are but the names of files, it went with the last of them.
            guard error.kind == .missing, !features.keepsEmptyDirectories else {
                throw error
            }
        }
    }

    /// Puts an empty hidden file into a directory that would not be there without one.
    private func mark(_ path: String, _ attempt: String) async throws(ProviderError) {
        try await makeEmpty("\(path)/\(RcloneHidden.marker)", attempt)
    }

    func makeEmpty(_ path: String, _ attempt: String) async throws(ProviderError) {
        let file = try await spool.copy(
            NoBytes(), modified: client.clock.wallTime, attempt)
        defer { file.remove() }
        let upload = RcloneUpload(
            client: client, fileSystem: fileSystem, file: file, size: 0,
            session: UntrackedUpload(), attempt: attempt)
        try await upload.run(to: path)
    }

    private func change(
        _ function: String, _ path: String, _ attempt: String
    ) async throws(ProviderError) {
        var input = RcloneInput()
        input.fs = fileSystem
        input.remote = path
        try await client.change(
            function, input, attempt: attempt, group: RcloneUpload.newGroup())
    }

    private func below(_ path: String) -> String {
        fileSystem + (fileSystem.hasSuffix(":") || fileSystem.hasSuffix("/") ? "" : "/") + path
    }
}

private struct NoBytes: ByteSource {
    let size: UInt64 = 0

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int { 0 }
}
