package import Engine
import Transport

extension WebDAVProvider {
    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "set the attributes of \"\(key)\""
        guard let name = key.names.last else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "the root stays as it is")
        }
        return try await finishing(attempt) { () async throws(ProviderError) in
            // Of a version that is replaced meanwhile, the property says nothing, so that no lock
            // is needed.
            var entry = try await found(key, attempt)
            try expect(etag, of: entry, named: name, attempt)
            let old = object(entry, named: name).object
            let stamp = entry.isCollection ? nil : WebDAVVersion(entry).stamp
            let new = WebDAVAttributes(
                attributes, stamp: stamp, word: word(of: entry), target: old.target)
            if try await set(new, of: key, attempt) { entry.attributes = new.text }
            return try await settled(entry, key, named: name, afterChange: true, attempt)
        }
    }

    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "move \"\(key)\" to \"\(destination)\""
        guard let name = key.names.last else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "the root stays where it is")
        }
        let newName = try usableName(of: destination, attempt)
        if destination != key, destination.names.starts(with: key.names) {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "a directory cannot move below itself")
        }
        let move = WebDAVMove(
            key: key, name: name, etag: etag, destination: destination, newName: newName,
            base: base, attempt: attempt)
        return try await finishing(attempt) { () async throws(ProviderError) in
            // Looked at before anything is locked, since a lock may make what it locks.
            var seen = try await check(move)
            if destination == key { return object(seen.source, named: name).object }
            // A server guards a move to a free name by itself.
            let keys = server.locks && base != .absent ? [key, destination] : []
            return try await locking(keys, attempt) { locks async throws(ProviderError) in
                if !locks.isEmpty { seen = try await check(move) }
                let isCollection = seen.source.isCollection
                var guards = locks.headers
                if locks.isEmpty, !isCollection {
                    guards = conditions([
                        (key, seen.source.etag), (destination, seen.destination?.etag),
                    ])
                }
                do throws(ProviderError) {
                    try await sendMove(
                        key, to: destination, isCollection: isCollection,
                        overwrite: base != .absent, guards, ifMatch: etag, attempt)
                } catch {
                    // A failed condition does not say which one failed: this look does.
                    if error.kind == .exists || error.kind == .changed {
                        _ = try await check(move)
                    }
                    throw error
                }
                return try await moved(move, seen.source)
            }
        }
    }

    /// - Returns: What is to be moved, once that and what is to be replaced are as expected.
    private func check(
        _ move: WebDAVMove
    ) async throws(ProviderError) -> (source: WebDAVEntry, destination: WebDAVEntry?) {
        let entry = try await found(move.key, move.attempt)
        try expect(move.etag, of: entry, named: move.name, move.attempt)
        // nginx makes the directories that are missing.
        if server.replacing == .staged, let parent = move.destination.parent,
            parent != move.key.parent, try await !isCollection(parent, move.attempt)
        {
            throw ProviderError(
                .missing, attempt: move.attempt, reason: "the directory to hold it is not there")
        }
        let other = try await look(at: move.destination, move.attempt)
        try expect(move.base, of: other, named: move.newName, move.attempt)
        if entry.isCollection, move.base != .absent {
            throw ProviderError(
                .wrongKind, attempt: move.attempt, reason: "a directory cannot replace a file")
        }
        return (entry, other)
    }

    /// What arrived. If that is not what was looked at, it was changed at this moment, and goes
    /// back.
    private func moved(
        _ move: WebDAVMove, _ before: WebDAVEntry
    ) async throws(ProviderError) -> RemoteObject {
        let entry = try await found(move.destination, move.attempt)
        let isSame =
            entry.isCollection || mayHaveMoved(entry, from: before, word: word(of: before))
        guard entry.isCollection == before.isCollection, isSame else {
            try await sendMove(
                move.destination, to: move.key, overwrite: false, [], move.attempt)
            throw ProviderError(
                .changed, attempt: move.attempt, reason: "it was changed at this moment")
        }
        let arrived = try await restamped(entry, before, move)
        return try await settled(
            arrived, move.destination, named: move.newName, afterChange: true, move.attempt)
    }

    /// Whether what has arrived somewhere can be what was moved there.
    ///
    /// - Parameter word: That of what was moved; nil where it had none.
    func mayHaveMoved(
        _ entry: WebDAVEntry, from before: WebDAVEntry, word: String?
    ) -> Bool {
        if let word, let arrived = self.word(of: entry), arrived != word { return false }
        return WebDAVVersion(entry).mayHaveMoved(from: WebDAVVersion(before))
    }

    /// Where a move makes a new tag, our property has to name that one.
    private func restamped(
        _ entry: WebDAVEntry, _ before: WebDAVEntry, _ move: WebDAVMove
    ) async throws(ProviderError) -> WebDAVEntry {
        guard !entry.isCollection, let text = before.attributes else { return entry }
        var attributes = WebDAVAttributes(parsing: text)
        let stamp = WebDAVVersion(entry).stamp
        guard attributes.stamp == WebDAVVersion(before).stamp,
            attributes.stamp != stamp || entry.attributes == nil
        else { return entry }
        attributes.stamp = stamp
        var entry = entry
        if try await set(attributes, of: move.destination, move.attempt) {
            entry.attributes = attributes.text
        }
        return entry
    }

    func sendMove(
        _ key: ObjectKey, to destination: ObjectKey, isCollection: Bool = false, overwrite: Bool,
        _ guards: [(name: String, value: String)], ifMatch etag: ETag? = nil, _ attempt: String
    ) async throws(ProviderError) {
        var headers = [
            ("Destination", client.address.url(destination, isCollection: isCollection)),
            ("Overwrite", overwrite ? "T" : "F"),
        ]
        if server.obeysIfMatch, let tag = etag.flatMap(WebDAVVersion.tag(of:)) {
            headers.append(("If-Match", tag))
        }
        let answer = try await client.send(
            .move, client.address.url(key, isCollection: isCollection),
            headers: headers + guards, attempt: attempt)
        if answer.isSuccess { return }
        if answer.status == 412, !overwrite {
            throw ProviderError(.exists, attempt: attempt, reason: "something has this name")
        }
        throw await explained(answer, destination, attempt)
    }

    package func delete(
        _ key: ObjectKey, kind: FileKind, etag: ETag?
    ) async throws(ProviderError) {
        let attempt = "delete \"\(key)\""
        guard let name = key.names.last else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "the root stays where it is")
        }
        try await finishing(attempt) { () async throws(ProviderError) in
            var seen = try await checkDeletion(key, named: name, kind, etag, attempt)
            let depth = kind == .directory ? "infinity" : "0"
            try await locking(server.locks ? [key] : [], depth: depth, attempt) {
                locks async throws(ProviderError) in
                if !locks.isEmpty {
                    seen = try await checkDeletion(key, named: name, kind, etag, attempt)
                }
                let url = client.address.url(key, isCollection: kind == .directory)
                for _ in 0..<Self.deletionTries {
                    // A directory's tag changes with the names in it, so the one that was seen
                    // before they were listed holds off what has come since.
                    var headers = locks.isEmpty ? conditions([(key, seen.etag)]) : locks.headers
                    if server.obeysIfMatch, let tag = etag.flatMap(WebDAVVersion.tag(of:)) {
                        headers.append(("If-Match", tag))
                    }
                    let answer = try await client.send(
                        .delete, url, headers: headers, attempt: attempt)
                    if answer.isSuccess { return }
                    guard answer.status == 412, kind == .directory else {
                        throw await explained(answer, key, attempt)
                    }
                    seen = try await checkDeletion(key, named: name, kind, etag, attempt)
                }
                throw ProviderError(
                    .busy, attempt: attempt, reason: "it was changed at this moment")
            }
        }
    }

    /// What came into a directory may have gone again: Apache keeps a file of its own beside one that
    /// it is sent, and takes it away a moment after that was cut short.
    private static var deletionTries: Int { 3 }

    /// Looks whether a deletion takes with it nothing but what it should: DELETE is recursive.
    private func checkDeletion(
        _ key: ObjectKey, named name: FileName, _ kind: FileKind, _ etag: ETag?, _ attempt: String
    ) async throws(ProviderError) -> WebDAVEntry {
        let entry = try await found(key, attempt)
        guard object(entry, named: name).object.kind == kind else {
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is no \(kind)")
        }
        try expect(etag, of: entry, named: name, attempt)
        if kind == .directory { try await expectEmpty(key, attempt) }
        return entry
    }
}

/// What is to become of what.
private struct WebDAVMove: Sendable {
    let key: ObjectKey
    let name: FileName
    let etag: ETag?
    let destination: ObjectKey
    let newName: FileName
    let base: BaseVersion
    let attempt: String
}
