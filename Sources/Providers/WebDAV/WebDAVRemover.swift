import Engine
import ProviderSupport
import Transport

/// Deletes objects.
struct WebDAVRemover: Sendable {
    let lookup: WebDAVLookup
    let locks: WebDAVLocks

    /// New entries of a directory may be gone again: Apache keeps a temporary file beside one that it
    /// receives, and removes it a moment after the transfer was cut short.
    private static let triesMax = 3

    func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        guard let name = key.names.last else {
            throw ProviderError(.unsupported, "the root cannot be deleted")
        }
        try await finishing { () async throws(ProviderError) in
            let seen = try await check(key, named: name, kind, etag)
            let depth = kind == .directory ? "infinity" : "0"
            try await locks.locking(lookup.server.locks ? [key] : [], depth: depth) {
                locks async throws(ProviderError) in
                var current =
                    locks.isEmpty ? seen : try await check(key, named: name, kind, etag)
                for _ in 0..<Self.triesMax {
                    if try await send(key, kind, etag, current, locks) { return }
                    current = try await check(key, named: name, kind, etag)
                }
                throw ProviderError(.busy, "its contents keep changing")
            }
        }
    }

    /// - Returns: False if a directory has changed since it was checked.
    private func send(
        _ key: ObjectKey, _ kind: FileKind, _ etag: ETag?, _ seen: WebDAVEntry,
        _ locks: [WebDAVLock]
    ) async throws(ProviderError) -> Bool {
        // A directory's tag changes with the names in it. The one seen before the listing fails the
        // request if a name was added since.
        let conditions =
            locks.isEmpty ? lookup.matching([(key, seen.etag)]) : locks.headers
        let answer = try await lookup.client.send(
            .delete, lookup.client.address.url(key, isCollection: kind == .directory),
            headers: conditions + lookup.ifMatch(etag))
        if answer.isSuccess { return true }
        guard answer.status == 412, kind == .directory else {
            throw await lookup.explained(answer, key)
        }
        return false
    }

    /// Ensures that a DELETE, which is recursive, removes this object only.
    private func check(
        _ key: ObjectKey, named name: FileName, _ kind: FileKind, _ etag: ETag?
    ) async throws(ProviderError) -> WebDAVEntry {
        let entry = try await lookup.found(key)
        guard lookup.objects.object(entry, named: name).object.kind == kind else {
            throw ProviderError(.wrongKind, "it is not a \(kind)")
        }
        try lookup.objects.expect(etag, of: entry, named: name)
        if kind == .directory { try await expectEmpty(key) }
        return entry
    }

    /// - Throws: `.notEmpty` if a directory holds anything but unfinished uploads of ours.
    private func expectEmpty(_ directory: ObjectKey) async throws(ProviderError) {
        let address = lookup.client.address
        let multistatus = try await lookup.client.propfind(
            address.url(directory, isCollection: true), depth: 1, properties: "<D:resourcetype/>")
        while let entry = try multistatus.next() {
            switch address.place(of: entry.href, from: directory) {
            case .itself: break
            case .child(let name) where WebDAVName.isReserved(name): break
            // Unreadable names count, too.
            case .child, .oddChild, .elsewhere:
                throw ProviderError(.notEmpty, "the directory is not empty")
            }
        }
    }
}
