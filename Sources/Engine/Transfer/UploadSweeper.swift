import Logging

/// While its bytes were sent, a file was unlinked, or lost its place to a remote object.
struct UnwantedUpload: Error {}

/// The engine's side of an upload session: stores the token with which an interrupted upload is
/// resumed, and counts the bytes sent.
struct TrackedUpload: UploadSession {
    let store: Store
    let progress: TransferProgress
    let inode: InodeNumber
    /// The current upload; its token is not known yet.
    let upload: UploadRecord
    let token: UploadToken?
    let nonce: WriteNonce?
    /// The intent that ``expect(_:)`` stores; nil if it is stored already.
    let intent: IntentRecord?
    /// Computes the digest of the content; nil if the intent has it, or none is needed.
    let digest: (@Sendable () async throws -> ContentDigest)?

    func keep(_ token: UploadToken?) throws {
        try store.write { database in
            guard let token else { return try database.removeUpload(of: inode) }
            var upload = upload
            upload.token = token
            try database.setUpload(upload, of: inode)
        }
        if token != nil { try store.synchronize() }
    }

    /// If the intent is stored already, it is synced only if the file has changed since: otherwise the
    /// bytes are compared if a power cut takes it.
    func expect(_ etag: ETag) throws {
        if var intent {
            intent.expected = etag
            guard try store.beginUpload(intent, of: inode) else { throw UnwantedUpload() }
            return
        }
        let hasChanged = try store.write { database in
            try database.setExpected(etag, of: inode)
            let record = try database.inode(inode)
            return record?.generation != upload.generation || record?.isWriting == true
        }
        if hasChanged { try store.synchronize() }
    }

    func keepProof() async throws {
        guard let digest = try await digest?() else { return }
        try store.write { try $0.setDigest(digest, of: inode) }
        try store.synchronize()
    }

    func noteSent(_ bytes: UInt64) {
        progress.noteProgress(bytes, of: inode)
    }
}

/// Resumes interrupted uploads, and deletes from the store those that will not be resumed.
struct UploadSweeper: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let gate: RemoteGate
    let progress: TransferProgress

    /// Starts an upload, or resumes one of the same bytes to the same place. The remains of any
    /// other upload of the inode are deleted from the store.
    ///
    /// - Parameters:
    ///   - intent: As in ``TrackedUpload/intent``.
    ///   - digest: As in ``TrackedUpload/digest``.
    func uploadSession(
        of inode: InodeNumber, generation: Int64, to key: ObjectKey, base: BaseVersion,
        intent: IntentRecord? = nil,
        digest: (@Sendable () async throws -> ContentDigest)? = nil
    ) async throws -> TrackedUpload {
        let upload = UploadRecord(
            generation: generation, key: key, base: base, token: UploadToken(""))
        let earlier = try store.readInTurn { try $0.upload(of: inode) }
        let isContinued = earlier?.continues(upload) == true
        if let earlier, !isContinued { try await clear(earlier, of: inode) }
        return TrackedUpload(
            store: store, progress: progress, inode: inode, upload: upload,
            token: isContinued ? earlier?.token : nil,
            nonce: try store.writeNonce(of: inode, generation: generation), intent: intent,
            digest: digest)
    }

    private func clear(_ upload: UploadRecord, of inode: InodeNumber) async throws {
        do throws(ProviderError) {
            try await abandon(upload, of: inode)
        } catch {
            if error.isPassing || error.kind == .cancelled || error.kind == .unauthorized {
                throw error
            }
            // A failed clean-up must not prevent the upload of new content.
            try store.write { try $0.removeUpload(of: inode) }
            logger.warning(
                "remains of an upload not deleted from the store",
                metadata: ["reason": "\(error.reason)"])
        }
    }

    private func abandon(
        _ upload: UploadRecord, of inode: InodeNumber
    ) async throws(ProviderError) {
        try await gate.abandon(upload.token, of: upload.key)
        try engineWork { () throws(Blocked) in
            try store.write { database in
                guard try database.upload(of: inode) == upload else { return }
                try database.removeUpload(of: inode)
            }
        }
    }

    /// Deletes the remains of uploads that will not be resumed from the store, a few at a time,
    /// until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            let uploads =
                gate.isPaused ? [] : (try? store.read { try $0.forsakenUploads(limit: 16) })
            for (inode, upload) in uploads ?? [] {
                do throws(ProviderError) {
                    try await abandon(upload, of: inode)
                } catch {
                    // Retried in the next round.
                    logger.debug("upload not abandoned", metadata: ["reason": "\(error.reason)"])
                }
            }
            try? await clock.sleep(until: clock.uptime + .seconds(10))
        }
    }
}
