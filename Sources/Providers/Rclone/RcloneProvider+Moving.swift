import Engine
import ProviderSupport

extension RcloneProvider {
    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        let newPath = try remote.newPath(destination)
        guard !destination.names.starts(with: key.names) || destination == key else {
            throw ProviderError(.unsupported, "a directory cannot move below itself")
        }
        let path = try remote.existingPath(of: key)
        if base == .absent, destination.names.last != key.names.last {
            try await names.requireKept(destination)
        }
        return try await locks.with([key, destination]) { () async throws(ProviderError) in
            guard let etag else {
                return try await moveDirectory(
                    key, path, to: destination, newPath, continues: continues)
            }
            let found = try await remote.requireVersion(etag, of: key)
            try await remote.requireBase(base, at: destination)
            try await remote.moveFile(path, to: newPath)
            let moved = try await remote.requireObject(at: destination)
            // A move keeps the time if the remote keeps times.
            let isSameTime =
                traits.modifiedResolution.map { moved.modified.isWithin($0, of: found.modified) }
                ?? true
            guard isSameTime, RcloneMeaning.mayHoldSame(moved, found) else {
                throw RcloneRemote.changedMeanwhile
            }
            return moved
        }
    }

    private func moveDirectory(
        _ key: ObjectKey, _ path: String, to destination: ObjectKey, _ newPath: String,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        let found = try await remote.object(at: key)
        let there = try await remote.object(at: destination)
        if continues, let there, there.kind == .directory {
            // An earlier call has moved some of it; the rest follows, if there is any.
            if found == nil { return there }
        } else {
            guard let found else { throw RcloneRemote.missing }
            guard found.kind == .directory else {
                throw ProviderError(.wrongKind, "it is a file")
            }
            try await remote.requireBase(.absent, at: destination)
        }
        let input = RcloneInput(
            srcFs: remote.below(path), dstFs: remote.below(newPath), createEmptySrcDirs: true,
            deleteEmptySrcDirs: true)
        // It may move each object by itself.
        try await remote.client.change("sync/move", input, within: nil)
        // If objects were moved one by one, the directory itself is still there.
        if try await remote.object(at: key) != nil {
            try await removeEmpty(path)
        }
        return try await remote.requireObject(at: destination)
    }
}
