package import Engine
import Synchronization

/// Reads and uploads, in pieces at different moments.
extension SimulatedProvider {
    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        state.withLock { state in
            state.reads.underWay += 1
            state.reads.underWayMax = max(state.reads.underWayMax, state.reads.underWay)
        }
        defer { state.withLock { $0.reads.underWay -= 1 } }
        if settings.turnDelay > .zero { try await wait(settings.turnDelay) }
        try await arrive(
            "read \(range.count) bytes at \(range.lowerBound) of \"\(key)\"", isTransfer: true)
        let (damage, isDamaged, isShort) = state.withLock { state in
            var damage: UInt8 = 0
            if range.lowerBound > 0, state.reads.toDamage > 0 {
                damage = UInt8(1 + state.reads.toDamage % 255)
                state.reads.toDamage -= 1
            }
            return (
                damage, state.random.happens(state.faults[.damagedRead]),
                state.random.happens(state.faults[.shortRead])
            )
        }
        let end =
            isShort
            ? range.lowerBound + (range.upperBound - range.lowerBound) / 2 : range.upperBound
        // A damaged answer has no header that confirms the version.
        var isConfirmed = !settings.confirmsVersions || isDamaged
        var offset = range.lowerBound
        while offset < end {
            let piece = try piece(of: key, from: offset, to: end, etag: etag)
            if !isConfirmed { sink.confirm(range) }
            isConfirmed = true
            do {
                let mask = isDamaged ? .max : damage
                try (mask == 0 ? piece : piece.map { $0 ^ mask }).withUnsafeBytes { bytes in
                    try sink.write(bytes, at: offset)
                }
            } catch {
                throw ProviderError(
                    .sink, "the bytes were not taken", cause: error)
            }
            state.withLock { $0.reads.bytes += UInt64(piece.count) }
            offset += UInt64(piece.count)
            if settings.confirmsParts, !settings.confirmsVersions, !isDamaged, damage == 0 {
                try await confirmPart(range.lowerBound..<offset, of: key, etag, sink)
            }
            if offset < end { try await pause() }
        }
        if !settings.confirmsVersions { try checkVersion(of: key, etag) }
        if isDamaged || isShort {
            throw ProviderError(.corrupt, "the reply was damaged")
        }
    }

    /// Damages some of the next reads that do not begin at the first byte; a reader of such a piece
    /// does not notice. Each of them gets another damage.
    package func damageReads(_ count: Int) {
        state.withLock { $0.reads.toDamage = count }
    }

    /// The number of reads still to be damaged.
    package var readsToDamage: Int { state.withLock(\.reads.toDamage) }

    /// The number of bytes read so far.
    package var bytesRead: UInt64 { state.withLock(\.reads.bytes) }

    /// The number of checksums asked for so far.
    package var checksumsAsked: Int { state.withLock(\.reads.checksums) }

    package func checksum(
        of key: ObjectKey, etag: ETag
    ) async throws(ProviderError) -> (any ContentChecksum)? {
        try await arrive("ask for the checksum of \"\(key)\"")
        return try state.withLock { state throws(ProviderError) in
            state.reads.checksums += 1
            return SimulatedChecksum(
                settings.checksums, of: try state.tree.file(key, etag: etag).bytes)
        }
    }

    /// Asks for the version in the middle of a read: if it is still there, it was all the time.
    private func confirmPart(
        _ part: Range<UInt64>, of key: ObjectKey, _ etag: ETag, _ sink: any ByteSink
    ) async throws(ProviderError) {
        try await pause()
        try checkVersion(of: key, etag)
        sink.confirm(part)
    }

    private func checkVersion(of key: ObjectKey, _ etag: ETag) throws(ProviderError) {
        try state.withLock { state throws(ProviderError) in
            _ = try state.tree.file(key, etag: etag)
        }
    }

    private func piece(
        of key: ObjectKey, from start: UInt64, to end: UInt64, etag: ETag
    ) throws(ProviderError) -> [UInt8] {
        try state.withLock { state throws(ProviderError) in
            try Self.checkReachable(state)
            // A store that is asked for the version at the end sends the bytes of any.
            let isAny = !settings.confirmsVersions
            let file = try state.tree.file(key, etag: isAny ? nil : etag)
            guard end <= UInt64(file.bytes.count) else {
                throw ProviderError(isAny ? .changed : .unsupported, "it is shorter")
            }
            let count = min(
                Int(end - start), Int.random(in: settings.pieceBytes, using: &state.random))
            state.bytesSent += UInt64(count)
            return Array(file.bytes[Int(start)..<Int(start) + count])
        }
    }

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        if preparesForChanges { try await prepareForChanges() }
        try await arrive("write \(source.size) bytes to \"\(key)\"", isTransfer: true)
        let token = try beginUpload(session)
        let bytes = try await take(source, token, session)
        let isWhole = settings.storesAttributesAtOnce
        let first =
            isWhole ? attributes : ObjectAttributes(modified: clock.wallTime, mode: 0o644)
        if !traits.recognisesWrites { try await session.requireProof() }
        let etag = try settings.tellsVersionsAhead ? announce(session) : nil
        let nonce = settings.tellsVersionsAhead ? nil : session.nonce
        let object = try change(isRepeatable: true) { tree throws(ProviderError) in
            guard tree.bytesStored + UInt64(bytes.count) <= settings.capacityBytes else {
                throw ProviderError(.full, "there is no room")
            }
            return try tree.write(
                key, bytes: bytes, attributes: first, base: base, nonce: isWhole ? nonce : nil,
                etag: etag)
        }
        if let token { state.withLock { $0.uploads[token] = nil } }
        if isWhole { return object }
        try await pause()
        return try step { tree throws(ProviderError) in
            try tree.setAttributes(key, to: attributes, etag: object.etag, nonce: nonce)
        }
    }

    /// Tells the session which etag the object will have.
    private func announce(_ session: any UploadSession) throws(ProviderError) -> ETag {
        let etag = state.withLock { $0.tree.nextVersion() }
        do {
            try session.expect(etag)
        } catch {
            throw ProviderError(.source, "the etag cannot be kept", cause: error)
        }
        return etag
    }

    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        try await arrive("abandon an upload of \"\(key)\"")
        state.withLock { $0.uploads[token] = nil }
    }

    /// The number of bytes uploaded, including failed uploads.
    package var bytesReceived: UInt64 { state.withLock { $0.bytesReceived } }

    /// The number of bytes downloaded, including failed downloads.
    package var bytesSent: UInt64 { state.withLock { $0.bytesSent } }

    /// Returns the most reads that were under way at a time since the last call.
    package func takeReadsMax() -> Int {
        state.withLock { state in
            defer { state.reads.underWayMax = state.reads.underWay }
            return state.reads.underWayMax
        }
    }

    /// The number of unfinished uploads.
    package var uploadCount: Int { state.withLock { $0.uploads.count } }

    /// - Returns: The token of the upload, or `nil` if the store does not keep its state.
    private func beginUpload(
        _ session: any UploadSession
    ) throws(ProviderError) -> UploadToken? {
        guard settings.resumesUploads else { return nil }
        let (token, isNew) = state.withLock { state in
            if let token = session.token, state.uploads[token] != nil { return (token, false) }
            state.uploadsBegun += 1
            let token = UploadToken("\(state.uploadsBegun)")
            state.uploads[token] = []
            return (token, true)
        }
        guard isNew else { return token }
        do {
            try session.keep(token)
        } catch {
            throw ProviderError(
                .source, "the upload cannot be kept", cause: error)
        }
        return token
    }

    /// Receives the bytes a piece at a time, from the point where the upload stopped.
    private func take(
        _ source: any ByteSource, _ token: UploadToken?,
        _ session: any UploadSession
    ) async throws(ProviderError) -> [UInt8] {
        var bytes = token.flatMap { token in state.withLock { $0.uploads[token] } } ?? []
        session.noteSent(UInt64(bytes.count))
        if settings.turnDelay > .zero { try await wait(settings.turnDelay) }
        while UInt64(bytes.count) < source.size {
            try state.withLock { state throws(ProviderError) in
                try Self.checkReachable(state)
            }
            let wanted = state.withLock { Int.random(in: settings.pieceBytes, using: &$0.random) }
            let count = min(wanted, Int(source.size) - bytes.count)
            let start = UInt64(bytes.count)
            do {
                let piece = try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                    filled = try source.read(
                        into: UnsafeMutableRawBufferPointer(buffer), at: start)
                }
                bytes += piece
            } catch {
                throw ProviderError(
                    .source, "no bytes were given", cause: error)
            }
            guard UInt64(bytes.count) > start else {
                throw ProviderError(
                    .source, "it ended at \(start) of \(source.size) bytes")
            }
            state.withLock { state in
                state.bytesReceived += UInt64(bytes.count) - start
                if let token, state.uploads[token] != nil { state.uploads[token] = bytes }
            }
            session.noteSent(UInt64(bytes.count))
            try await pause()
        }
        return bytes
    }
}

extension UploadSession {
    /// As ``keepProof()``, with the error of a provider.
    fileprivate func requireProof() async throws(ProviderError) {
        do {
            try await keepProof()
        } catch let error as ProviderError {
            throw error
        } catch {
            throw ProviderError(.source, "the proof cannot be kept", cause: error)
        }
    }
}
