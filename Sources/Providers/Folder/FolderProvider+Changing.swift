package import Engine
import ProviderSupport
import SystemCalls

extension FolderProvider {
    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        try await perform(onCancel: .finish) { () throws(ProviderError) in
            if key == .root {
                throw ProviderError(.unsupported, "the root has no attributes of its own")
            }
            let place = try root.place(of: key)
            let kind = try kind(of: place.status(), etag: etag)
            try place.directory.set(
                attributes, only: fields, on: place.name, kind: kind, etag: etag, traits: traits)
            return try place.directory.object(place.name)
        }
    }

    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        try await perform(onCancel: .finish) { () throws(ProviderError) in
            let from = try root.place(of: key)
            let to = try root.place(of: destination)
            let status = try from.status()
            let kind = try kind(of: status, etag: etag)
            if let etag { try from.directory.expect(etag, at: from.name) }
            switch base {
            case .absent:
                try move(from, status, to: to)
            case .version(let replaced):
                guard kind != .directory else {
                    throw ProviderError(.wrongKind, "a directory cannot replace a file")
                }
                guard key != destination else { break }
                try from.directory.move(
                    from.name, seenAs: status, to: to.directory, to.name, of: replaced)
            }
            try to.directory.synchronize()
            if key.parent != destination.parent { try from.directory.synchronize() }
            return try to.directory.object(to.name)
        }
    }

    /// Moves to an unused name; moves a file back if it was changed at this moment.
    private func move(
        _ from: FolderPlace, _ status: FolderStatus, to: FolderPlace
    ) throws(ProviderError) {
        try from.directory.moveWithoutReplacing(from.name, to: to.directory, to.name)
        guard status.kind == .file, try to.status().version != status.version else { return }
        try to.directory.moveWithoutReplacing(to.name, to: from.directory, from.name)
        throw ProviderError(.changed, "it was changed at this moment")
    }

    package func delete(
        _ key: ObjectKey, kind: FileKind, etag: ETag?
    ) async throws(ProviderError) {
        try await perform(onCancel: .finish) { () throws(ProviderError) in
            let place = try root.place(of: key)
            let status = try place.status()
            guard status.kind == kind else {
                throw ProviderError(.wrongKind, "it is not a \(kind)")
            }
            switch kind {
            case .directory:
                try deleteDirectory(place)
            case .file, .symlink:
                if let etag { try place.directory.expect(etag, at: place.name) }
                try place.directory.removeFile(place.name, seenAs: status)
            }
            try place.directory.synchronize()
        }
    }

    /// Deletes an empty directory, with any files that a killed process has left in it.
    private func deleteDirectory(_ place: FolderPlace) throws(ProviderError) {
        do {
            return try place.directory.removeDirectory(place.name)
        } catch {
            guard error.kind == .notEmpty else { throw error }
        }
        try place.directory.directory(place.name).removeLeftovers()
        try place.directory.removeDirectory(place.name)
    }

    /// Checks the kind of an object for which the caller expects `etag`.
    ///
    /// - Throws: `.wrongKind` for a file without etag, another kind with one, and for sockets, devices
    ///   and pipes.
    private func kind(of status: FolderStatus, etag: ETag?) throws(ProviderError) -> FileKind {
        guard let kind = status.kind, (kind == .file) == (etag != nil) else {
            throw ProviderError(.wrongKind, "it is not of the expected kind")
        }
        return kind
    }
}
