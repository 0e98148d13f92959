import Engine
import ProviderSupport

/// Moves and renames objects.
struct WebDAVMover: Sendable {
    let lookup: WebDAVLookup
    let properties: WebDAVProperties
    let locks: WebDAVLocks

    private struct Move: Sendable {
        let key: ObjectKey
        let name: FileName
        let etag: ETag?
        let destination: ObjectKey
        let newName: FileName
        let base: BaseVersion
    }

    /// The entries at both ends before the move.
    private struct Ends: Sendable {
        let source: WebDAVEntry
        let destination: WebDAVEntry?
    }

    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion
    ) async throws(ProviderError) -> RemoteObject {
        guard let name = key.names.last else {
            throw ProviderError(.unsupported, "the root cannot be moved")
        }
        let newName = try lookup.server.storableName(of: destination)
        if destination != key, destination.names.starts(with: key.names) {
            throw ProviderError(.unsupported, "a directory cannot move below itself")
        }
        let move = Move(
            key: key, name: name, etag: etag, destination: destination, newName: newName,
            base: base)
        return try await finishing { () async throws(ProviderError) in
            // Checked before anything is locked, since a lock may create the resource.
            let seen = try await check(move)
            if destination == key {
                return lookup.objects.object(seen.source, named: name).object
            }
            // The server itself guards a move to a free name.
            let keys = lookup.server.locks && base != .absent ? [key, destination] : []
            return try await locks.locking(keys) { locks async throws(ProviderError) in
                let current = locks.isEmpty ? seen : try await check(move)
                try await send(move, current, locks)
                return try await result(of: move, current.source)
            }
        }
    }

    /// - Returns: The entries, once both are as expected.
    private func check(_ move: Move) async throws(ProviderError) -> Ends {
        let entry = try await lookup.found(move.key)
        try lookup.objects.expect(move.etag, of: entry, named: move.name)
        // nginx creates missing parent directories.
        if lookup.server.replacing == .staged, let parent = move.destination.parent,
            parent != move.key.parent, try await !lookup.isCollection(parent)
        {
            throw ProviderError(.missing, "the parent directory does not exist")
        }
        let other = try await lookup.entry(at: move.destination)
        try lookup.objects.expect(move.base, of: other, named: move.newName)
        if entry.isCollection, move.base != .absent {
            throw ProviderError(.wrongKind, "a directory cannot replace a file")
        }
        return Ends(source: entry, destination: other)
    }

    private func send(
        _ move: Move, _ seen: Ends, _ locks: [WebDAVLock]
    ) async throws(ProviderError) {
        let isCollection = seen.source.isCollection
        var headers = lookup.ifMatch(move.etag) + locks.headers
        if locks.isEmpty, !isCollection {
            headers += lookup.matching([
                (move.key, seen.source.etag), (move.destination, seen.destination?.etag),
            ])
        }
        do throws(ProviderError) {
            try await lookup.move(
                move.key, to: move.destination, isCollection: isCollection,
                overwrite: move.base != .absent, headers: headers)
        } catch {
            // The status does not say which condition failed; another check does.
            if error.kind == .exists || error.kind == .changed { _ = try await check(move) }
            throw error
        }
    }

    /// Returns the object at the destination. If that is not the one checked before, it was changed
    /// in between, and is moved back.
    private func result(
        of move: Move, _ before: WebDAVEntry
    ) async throws(ProviderError) -> RemoteObject {
        let objects = lookup.objects
        let entry = try await lookup.found(move.destination)
        let isSame =
            entry.isCollection
            || objects.mayHaveMoved(entry, from: before, nonce: objects.nonce(of: before))
        guard entry.isCollection == before.isCollection, isSame else {
            try await lookup.move(move.destination, to: move.key, overwrite: false)
            throw ProviderError.changedMeanwhile
        }
        let arrived = try await updated(entry, before, move)
        return try await lookup.stable(
            arrived, move.destination, named: move.newName, afterChange: true)
    }

    /// Writes the new entity tag into our property if the move changed the tag.
    private func updated(
        _ entry: WebDAVEntry, _ before: WebDAVEntry, _ move: Move
    ) async throws(ProviderError) -> WebDAVEntry {
        guard !entry.isCollection, let text = before.attributes else { return entry }
        var attributes = WebDAVAttributes(parsing: text)
        let etag = WebDAVVersion(entry).opaqueTag
        guard attributes.etag == WebDAVVersion(before).opaqueTag,
            attributes.etag != etag || entry.attributes == nil
        else { return entry }
        attributes.etag = etag
        var entry = entry
        if try await properties.set(attributes, of: move.destination) {
            entry.attributes = attributes.text
        }
        return entry
    }
}
