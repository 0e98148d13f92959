import Crypto
import Engine
import Foundation
import Synchronization
import Transport

/// What is kept of an upload in parts: its id at the store, the size of its parts, and what tells
/// the metadata that it was begun with, which the object will have.
struct S3UploadToken: Hashable, Sendable {
    let upload: String
    let partBytes: UInt64
    /// Of ``S3Metadata/mark``.
    let metadata: String

    init(upload: String, partBytes: UInt64, metadata: String) {
        self.upload = upload
        self.partBytes = partBytes
        self.metadata = metadata
    }

    init?(_ token: UploadToken) {
        let parts = token.rawValue.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let partBytes = UInt64(parts[0]), partBytes > 0 else { return nil }
        self.init(upload: String(parts[2]), partBytes: partBytes, metadata: String(parts[1]))
    }

    var token: UploadToken { UploadToken("\(partBytes) \(metadata) \(upload)") }
}

/// Sends one file in parts, side by side, and goes on where an earlier try stopped.
struct S3Upload: Sendable {
    let provider: S3Provider
    let key: S3Key
    let source: any ByteSource
    let metadata: S3Metadata
    /// Of the new object, the metadata's included.
    let headers: [(name: String, value: String)]
    let session: any UploadSession
    let attempt: String

    private var client: S3Client { provider.client }

    /// - Parameter beforeEnd: Looks once more whether the object may be replaced, and gives the
    ///   condition under which the store is to do it.
    /// - Returns: The version, and whether it has ``metadata``: one that was begun with other
    ///   metadata, and gone on with, has that.
    /// - Throws: Also leaves what has been sent at the store, for the next try, unless nobody will
    ///   make one.
    func run(
        _ beforeEnd: @Sendable () async throws(ProviderError) -> S3Condition?
    ) async throws(ProviderError) -> (etag: ETag, hasMetadata: Bool) {
        let (token, arrived) = try await begin()
        do throws(ProviderError) {
            let parts = try await sendParts(token, arrived)
            let condition = try await beforeEnd()
            let etag = try await client.completeUpload(
                token.upload, key, parts: parts, condition, attempt)
            try keep(nil)
            return (etag, token.metadata == metadata.mark)
        } catch {
            if let dropped = provider.droppedUpload(error, attempt) {
                // One answer is not believed, as the store would keep what has arrived for good.
                if await isGone(token) { try? keep(nil) }
                throw dropped
            }
            if isOver(error) { await abort(token) }
            throw error
        }
    }

    /// Takes up what the session kept, or begins anew.
    private func begin() async throws(ProviderError) -> (S3UploadToken, [S3Client.Part]) {
        if let token = session.token.flatMap(S3UploadToken.init),
            let parts = try await client.parts(of: token.upload, key, attempt)
        {
            return (token, parts)
        }
        if let lost = session.token.flatMap(S3UploadIntent.init) {
            do throws(ProviderError) {
                try await provider.abortLost(lost, of: key, attempt)
            } catch {
                // A store that does not let us clear up is no reason not to send what is new.
                if error.isPassing || [.cancelled, .unauthorized].contains(error.kind) {
                    throw error
                }
            }
        }
        // From here on until the token is kept, the store may have an upload that we know nothing of.
        if !(session is UntrackedUpload), let intent = try await provider.intent(key, attempt) {
            try keep(intent.token)
        }
        let limits = provider.limits
        let smallest = (source.size + limits.partsMax - 1) / limits.partsMax
        let partBytes = max(limits.partBytes, (smallest + 1_048_575) & ~1_048_575)
        let upload = try await client.beginUpload(key, headers: headers, attempt)
        let token = S3UploadToken(
            upload: upload, partBytes: partBytes, metadata: metadata.mark)
        do throws(ProviderError) {
            try keep(token.token)
        } catch {
            await abort(token)
            throw error
        }
        return (token, [])
    }

    /// Whether nobody will go on with this upload.
    private func isOver(_ error: ProviderError) -> Bool {
        if session is UntrackedUpload { return true }
        switch error.kind {
        case .exists, .changed, .missing, .wrongKind, .source: return true
        default: return false
        }
    }

    /// Frees what is at the store, even in a cancelled task.
    private func abort(_ token: S3UploadToken) async {
        let (client, key, attempt) = (client, key, attempt)
        // A task of its own is the only one that the cancellation of ours does not end; it is
        // awaited here.
        let isAborted = await Task {
            do throws(ProviderError) {
                try await client.abortUpload(token.upload, key, attempt)
                return true
            } catch {
                return false
            }
        }.value
        if isAborted { try? keep(nil) }
    }

    private func isGone(_ token: S3UploadToken) async -> Bool {
        do throws(ProviderError) {
            return try await client.parts(of: token.upload, key, attempt) == nil
        } catch {
            return false
        }
    }

    private func keep(_ token: UploadToken?) throws(ProviderError) {
        do {
            try session.keep(token)
        } catch {
            throw ProviderError(
                .source, attempt: attempt, reason: "where it stands cannot be kept: \(error)",
                cause: error)
        }
    }

    // MARK: Parts

    private func sendParts(
        _ token: S3UploadToken, _ arrived: [S3Client.Part]
    ) async throws(ProviderError) -> [(number: Int, etag: ETag)] {
        let count = Int((source.size + token.partBytes - 1) / token.partBytes)
        var etags: [Int: ETag] = [:]
        for part in arrived where (1...count).contains(part.number) {
            // One of another size was cut short, and is sent again.
            if part.size == UInt64(range(part.number, token).count) {
                etags[part.number] = part.etag
            }
        }
        let sent = etags.keys.reduce(UInt64(0)) { $0 + UInt64(range($1, token).count) }
        let progress = S3Progress(session, already: sent)
        var waiting = (1...count).filter { etags[$0] == nil }[...]
        do {
            try await withThrowingTaskGroup(of: (Int, ETag).self) { group in
                for _ in 0..<provider.limits.partsAtOnce {
                    guard let number = waiting.popFirst() else { break }
                    group.addTask { (number, try await sendPart(number, token, progress)) }
                }
                while let (number, etag) = try await group.next() {
                    etags[number] = etag
                    if let next = waiting.popFirst() {
                        group.addTask { (next, try await sendPart(next, token, progress)) }
                    }
                }
            }
        } catch let error as ProviderError {
            throw error
        } catch {
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled", cause: error)
        }
        return etags.sorted { $0.key < $1.key }.map { (number: $0.key, etag: $0.value) }
    }

    private func sendPart(
        _ number: Int, _ token: S3UploadToken, _ progress: S3Progress
    ) async throws(ProviderError) -> ETag {
        let range = range(number, token)
        let hash = try await provider.hash(source, range, attempt)
        return try await client.sendPart(
            number, of: token.upload, key, .source(S3BodySource(source), range: range),
            hash: hash.hexadecimal, onProgress: { progress.note(number, $0) }, attempt)
    }

    private func range(_ number: Int, _ token: S3UploadToken) -> Range<UInt64> {
        let start = UInt64(number - 1) * token.partBytes
        return start..<min(start + token.partBytes, source.size)
    }
}

/// Adds up what the parts have sent, so that the sum ascends.
private final class S3Progress: Sendable {
    private struct State {
        var already: UInt64
        var parts: [Int: UInt64] = [:]
    }

    private let session: any UploadSession
    private let state: Mutex<State>

    init(_ session: any UploadSession, already: UInt64) {
        self.session = session
        state = Mutex(State(already: already))
        session.noteSent(already)
    }

    func note(_ number: Int, _ bytes: UInt64) {
        // Told under the lock, since two parts must not overtake each other.
        state.withLock { state in
            state.parts[number] = max(bytes, state.parts[number] ?? 0)
            session.noteSent(state.parts.values.reduce(state.already, +))
        }
    }
}

/// The engine's source as the transport wants it.
struct S3BodySource: HTTPBodySource {
    private let source: any ByteSource

    init(_ source: any ByteSource) {
        self.source = source
    }

    var size: UInt64 { source.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try source.read(into: buffer, at: offset)
    }
}

extension S3Provider {
    struct PayloadHash: Hashable, Sendable {
        let hexadecimal: String
        let base64: String
    }

    private static var pieceBytes: Int { 1 << 20 }

    /// The SHA-256 of a part of a source.
    ///
    /// It is signed with the request, over TLS too: so the store itself refuses bytes that were
    /// damaged on the way, and one way serves all stores. It costs a second read, mostly from
    /// memory, of what is sent anyway.
    func hash(
        _ source: any ByteSource, _ range: Range<UInt64>, _ attempt: String
    ) async throws(ProviderError) -> PayloadHash {
        var hash = SHA256()
        var offset = range.lowerBound
        while offset < range.upperBound {
            let start = offset
            let count = Int(min(UInt64(Self.pieceBytes), range.upperBound - start))
            let before = hash
            let result = await pool.run(onCancel: .finish) { () throws(ProviderError) in
                var hash = before
                try Self.update(&hash, source, at: start, count: count, attempt)
                return hash
            }
            switch result {
            case nil: throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled")
            case .success(let after): hash = after
            case .failure(let error): throw error
            }
            offset += UInt64(count)
        }
        let digest = hash.finalize()
        return PayloadHash(
            hexadecimal: S3Encoding.hexadecimal(digest), base64: S3Checksum.text(digest))
    }

    private static func update(
        _ hash: inout SHA256, _ source: any ByteSource, at start: UInt64, count: Int,
        _ attempt: String
    ) throws(ProviderError) {
        var read = 0
        do {
            let bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                while read < count {
                    let rest = UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[read...])
                    let more = try source.read(into: rest, at: start + UInt64(read))
                    if more == 0 { break }
                    read += more
                }
                filled = read
            }
            hash.update(data: bytes)
        } catch {
            throw ProviderError(
                .source, attempt: attempt, reason: "no bytes were given: \(error)", cause: error)
        }
        guard read == count else {
            throw ProviderError(
                .source, attempt: attempt,
                reason: "it ended at \(start + UInt64(read)) of \(source.size) bytes")
        }
    }
}
