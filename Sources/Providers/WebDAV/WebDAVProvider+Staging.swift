package import Engine
import Transport

/// Uploads that go to a name of our own first.
extension WebDAVProvider {
    /// A PUT to a name of our own, which then takes the place of what is there.
    ///
    /// A failure leaves what has arrived for the next try, where the server takes the rest of it.
    func storeStaged(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        let entry = try await look(at: upload.key, upload.attempt)
        try expect(upload.base, of: entry, named: upload.name, upload.attempt)
        let isInRanges = server.takesRanges && upload.source.size > chunkBytes
        let (name, staging, arrived) = try await stage(upload, isInRanges: isInRanges)
        do throws(ProviderError) {
            var offset = arrived
            let stored = try await putDiffering(upload, at: staging, []) {
                conditions async throws(ProviderError) in
                guard isInRanges else { return try await put(upload, at: staging, conditions) }
                let answer = try await putRanges(upload, at: staging, from: offset)
                // Another tag takes another write.
                offset = goOnFrom(upload.source.size)
                return answer
            }
            return try await finishing(upload.attempt) { () async throws(ProviderError) in
                _ = try await self.described(stored, upload, at: staging)
                let published = try await self.publish(staging, upload)
                try self.keep(nil, upload)
                guard self.mayHaveMoved(published, from: stored, word: upload.word) else {
                    throw ProviderError(
                        .changed, attempt: upload.attempt,
                        reason: "somebody else wrote it at this moment")
                }
                return self.object(published, named: upload.name).object
            }
        } catch {
            // The first failure tells more than one in cleaning up would.
            if !isInRanges || isOver(error, upload),
                (try? await abandon(UploadToken(name.description), of: upload.key)) != nil
            {
                try? keep(nil, upload)
            }
            throw error
        }
    }

    /// Takes up what the session kept, or begins anew.
    ///
    /// - Returns: The name of our own, its key, and the offset from which on bytes are to be sent.
    private func stage(
        _ upload: WebDAVUpload, isInRanges: Bool
    ) async throws(ProviderError) -> (name: FileName, staging: ObjectKey, arrived: UInt64) {
        guard let parent = upload.key.parent else {
            preconditionFailure("the root is not written")
        }
        if let token = upload.session.token {
            if isInRanges, let name = stagingName(token) {
                let staging = parent.appending(name)
                if let arrived = try await arrived(upload, at: staging) {
                    return (name, staging, arrived)
                }
            }
            // Half a file cannot be gone on with, but it can be taken away.
            try? await abandon(token, of: upload.key)
        }
        let name = WebDAVName.new()
        let staging = parent.appending(name)
        // Noted before it is there, so that nothing is left that nobody knows of.
        try keep(UploadToken(name.description), upload)
        if isInRanges { try await makeEmpty(upload, at: staging) }
        return (name, staging, 0)
    }

    private func stagingName(_ token: UploadToken) -> FileName? {
        FileName(token.rawValue).flatMap { WebDAVName.isReserved($0) ? $0 : nil }
    }

    /// A token is that of an upload in chunks, or the name of the file, beside the key, that an upload
    /// goes to first.
    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        let attempt = "abandon an upload of \"\(key)\""
        if try await abandonChunks(token, of: key, attempt) { return }
        guard let name = stagingName(token), let staging = key.parent?.appending(name) else {
            return
        }
        let answer = try await cleaningUp { () async throws(ProviderError) in
            try await client.send(.delete, client.address.url(staging), attempt: attempt)
        }
        guard !answer.isSuccess, answer.status != 404, answer.status != 409 else { return }
        throw answer.failure(attempt)
    }

    /// - Returns: What is at the key afterwards; under the lock, if there is one.
    private func publish(
        _ staging: ObjectKey, _ upload: WebDAVUpload
    ) async throws(ProviderError) -> WebDAVEntry {
        switch upload.base {
        case .absent:
            try await publishNew(staging, upload)
            return try await stored(upload, at: upload.key)
        case .version:
            return try await locking(server.locks ? [upload.key] : [], upload.attempt) {
                locks async throws(ProviderError) in
                let entry = try await look(at: upload.key, upload.attempt)
                try expect(upload.base, of: entry, named: upload.name, upload.attempt)
                let guards =
                    locks.isEmpty ? conditions([(upload.key, entry?.etag)]) : locks.headers
                do throws(ProviderError) {
                    try await sendMove(
                        staging, to: upload.key, overwrite: true, guards, upload.attempt)
                } catch {
                    // Whatever it was that changed, this look tells.
                    guard error.kind == .changed else { throw error }
                    let entry = try await look(at: upload.key, upload.attempt)
                    try expect(upload.base, of: entry, named: upload.name, upload.attempt)
                    throw error
                }
                return try await stored(upload, at: upload.key)
            }
        }
    }

    /// A server that guards a MOVE by a lock of its own refuses one that meets another.
    private func publishNew(
        _ staging: ObjectKey, _ upload: WebDAVUpload
    ) async throws(ProviderError) {
        let deadline = clock.uptime + Self.lockPatience
        while true {
            do throws(ProviderError) {
                return try await sendMove(
                    staging, to: upload.key, overwrite: false, [], upload.attempt)
            } catch {
                guard error.kind == .busy, error.retryAfter == nil, clock.uptime < deadline else {
                    throw error
                }
            }
            let entry = try await look(at: upload.key, upload.attempt)
            try expect(.absent, of: entry, named: upload.name, upload.attempt)
            try await wait(.milliseconds(Int.random(in: 10...100)), upload.attempt)
        }
    }
}
