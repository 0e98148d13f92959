import Engine
import ProviderSupport
import Transport

/// Publishes and removes files that were uploaded under a temporary name.
struct WebDAVStaging: Sendable {
    let sender: WebDAVSender
    let locks: WebDAVLocks

    private var lookup: WebDAVLookup { sender.lookup }

    /// The file at `key` that a token names; nil if it names none.
    func file(_ token: UploadToken, of key: ObjectKey) -> ObjectKey? {
        guard let name = FileName(token.rawValue), WebDAVName.isReserved(name) else { return nil }
        return key.parent?.appending(name)
    }

    /// Chooses a temporary name beside the file, and stores it before anything is created under it.
    func start(_ upload: WebDAVUpload) throws(ProviderError) -> ObjectKey {
        guard let parent = upload.key.parent else {
            preconditionFailure("the root is not written")
        }
        let name = WebDAVName.new()
        try upload.keep(UploadToken(name.description))
        return parent.appending(name)
    }

    /// Deletes the file that a token names.
    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        guard let staged = file(token, of: key) else { return }
        let answer = try await cleaningUp { () async throws(ProviderError) in
            try await lookup.client.send(.delete, lookup.client.address.url(staged))
        }
        guard !answer.isSuccess, answer.status != 404, answer.status != 409 else { return }
        throw answer.failure
    }

    /// Cleans up after a failure, whose error matters more than any in here.
    func abandon(_ staged: ObjectKey, of upload: WebDAVUpload) async {
        guard let name = staged.names.last,
            (try? await abandon(UploadToken(name.description), of: upload.key)) != nil
        else { return }
        try? upload.keep(nil)
    }

    /// Moves a complete file to its place if the base version is still there.
    ///
    /// - Parameter stored: Its entry.
    func publish(
        _ staged: ObjectKey, _ stored: WebDAVEntry, _ upload: WebDAVUpload
    ) async throws(ProviderError) -> RemoteObject {
        try await finishing { () async throws(ProviderError) in
            let described = try await sender.describe(stored, upload, at: staged)
            if described.nonce == nil { try await upload.session.requireProof() }
            let published = try await move(staged, upload)
            try upload.keep(nil)
            guard lookup.objects.mayHaveMoved(published, from: stored, nonce: upload.nonce) else {
                throw ProviderError.changedMeanwhile
            }
            return lookup.objects.object(published, named: upload.name).object
        }
    }

    /// - Returns: The entry at the key afterwards, read under the lock if there is one.
    private func move(
        _ staged: ObjectKey, _ upload: WebDAVUpload
    ) async throws(ProviderError) -> WebDAVEntry {
        guard upload.base != .absent else {
            try await moveToFreeName(staged, upload)
            return try await sender.stored(upload, at: upload.key)
        }
        return try await locks.locking(lookup.server.locks ? [upload.key] : []) {
            locks async throws(ProviderError) in
            let entry = try await lookup.entry(at: upload.key)
            try lookup.objects.expect(upload.base, of: entry, named: upload.name)
            let conditions =
                locks.isEmpty
                ? lookup.matching([(upload.key, entry?.etag)]) : locks.headers
            do throws(ProviderError) {
                try await lookup.move(
                    staged, to: upload.key, overwrite: true, headers: conditions)
            } catch {
                // Another look finds the change.
                if error.kind == .changed { try await sender.expectBase(of: upload) }
                throw error
            }
            return try await sender.stored(upload, at: upload.key)
        }
    }

    /// Waits for locks that a server takes for its own MOVE, since two of them exclude each other.
    private func moveToFreeName(
        _ staged: ObjectKey, _ upload: WebDAVUpload
    ) async throws(ProviderError) {
        let deadline = lookup.clock.uptime + WebDAVLocks.patience
        while true {
            do throws(ProviderError) {
                return try await lookup.move(staged, to: upload.key, overwrite: false)
            } catch {
                guard error.kind == .busy, error.retryAfter == nil,
                    lookup.clock.uptime < deadline
                else { throw error }
            }
            try await lookup.expect(.absent, at: upload.key, named: upload.name)
            try await lookup.clock.wait(.milliseconds(Int.random(in: 10...100)))
        }
    }
}

/// A PUT to a temporary name, then a MOVE: an interrupted PUT leaves no part of a file in its place.
struct StagedUpload: WebDAVStrategy {
    let staging: WebDAVStaging

    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        let sender = staging.sender
        try await sender.expectBase(of: upload)
        // An incomplete file is of no use here.
        if let token = upload.session.token { try? await staging.abandon(token, of: upload.key) }
        let staged = try staging.start(upload)
        do throws(ProviderError) {
            let stored = try await sender.putDistinct(upload, at: staged, []) {
                conditions async throws(ProviderError) in
                try await sender.put(upload, at: staged, conditions)
            }
            return try await staging.publish(staged, stored, upload)
        } catch {
            await staging.abandon(staged, of: upload)
            throw error
        }
    }
}
