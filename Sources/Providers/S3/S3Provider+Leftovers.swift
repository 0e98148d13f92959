import Engine

// Uploads in parts that nobody will go on with, since a crash or a lost answer came in between. S3
// does not tell whose an upload is: see docs/decisions/008-left-uploads.md for what does.

/// Kept before an upload in parts is begun: what it can be told by, if its id never gets here.
struct S3UploadIntent: Hashable, Sendable {
    /// The store's clock right before, in seconds since 1970 UTC.
    let since: Int64
    /// The uploads to the same key that were there then.
    let others: [String]

    /// With more of them, ours would not be found out anyway.
    static let othersMax = 16
    private static let word = "begin"
    /// The clocks of one store's machines may differ that much.
    private static let slack: Int64 = 60
    /// S3 takes no request whose signature is older.
    private static let signatureSeconds: Int64 = 900

    init(since: Int64, others: [String]) {
        self.since = since
        self.others = others
    }

    init?(_ token: UploadToken) {
        let words = token.rawValue.split(separator: " ")
        guard words.count >= 2, words[0] == Self.word, let since = Int64(words[1]) else {
            return nil
        }
        let others = words.dropFirst(2).compactMap { S3Encoding.decode(String($0)) }
        self.init(since: since, others: others.map { String(decoding: $0, as: UTF8.self) })
    }

    var token: UploadToken {
        let words = [Self.word, String(since)] + others.map { S3Encoding.encode($0) }
        return UploadToken(words.joined(separator: " "))
    }

    /// Whether an upload to the same key may be the one that was to be begun.
    func mayBe(_ upload: S3Client.Unfinished) -> Bool {
        guard let begun = upload.begun, !others.contains(upload.id) else { return false }
        return (since - Self.slack...since + Self.signatureSeconds).contains(begun.seconds)
    }
}

/// Marks uploads that are copies of ours by the size of their parts, which is nobody else's and the
/// only thing of them that S3 lists and we choose.
enum S3CopyMark {
    private static let unit: UInt64 = 1 << 20
    private static let rest: UInt64 = 0xA9055

    static func partBytes(atLeast bytes: UInt64) -> UInt64 {
        (bytes + unit - 1) / unit * unit + rest
    }

    /// - Parameter sizes: Those of the parts, of which the last one of all is smaller.
    static func isOn(_ sizes: [UInt64]) -> Bool {
        let others = sizes.filter { $0 % unit != rest }
        return others.count < sizes.count && others.count <= 1
    }
}

extension S3Provider {
    /// What is to be kept before an upload to a key is begun.
    ///
    /// - Returns: nil where the store does not tell enough: then one that gets lost stays there.
    func intent(
        _ key: S3Key, _ attempt: String
    ) async throws(ProviderError) -> S3UploadIntent? {
        do throws(ProviderError) {
            let found = try await client.unfinishedUploads(prefix: key, attempt)
            let others = found.uploads.filter { $0.key == key }.map(\.id)
            guard let now = found.now, others.count <= S3UploadIntent.othersMax else { return nil }
            return S3UploadIntent(since: now.seconds, others: others)
        } catch {
            // Not everybody may list uploads, and it is the upload that matters.
            if error.kind == .cancelled { throw error }
            return nil
        }
    }

    /// Aborts the upload that was to be begun, if it was, and nobody knows its id.
    ///
    /// It has no part, so somebody else whose upload it really is loses none. Of several it is not
    /// known which is ours.
    func abortLost(
        _ intent: S3UploadIntent, of key: S3Key, _ attempt: String
    ) async throws(ProviderError) {
        let found = try await client.unfinishedUploads(prefix: key, attempt).uploads
            .filter { $0.key == key && intent.mayBe($0) }
        guard found.count == 1, let upload = found.first,
            try await client.parts(of: upload.id, key, attempt)?.isEmpty == true
        else { return }
        try await client.abortUpload(upload.id, key, attempt)
    }

    /// How long nothing has happened to a copy that nobody works at any more: each of its requests
    /// ends within ten minutes.
    private static var leftCopySeconds: Int64 { 3_600 }
    /// How many uploads are listed, and looked into, at the most: an hour's worth of requests.
    private static var leftPagesMax: Int { 100 }
    private static var leftCopiesMax: Int { 10_000 }

    /// Aborts copies in parts, of whichever mount, that a crash has left below the prefix.
    ///
    /// It is done as well as it can be: what fails here is tried again by the next mount.
    func abortLeftCopies(olderThan seconds: Int64 = leftCopySeconds, _ attempt: String) async {
        var marker: S3Client.UploadMarker?
        var left = Self.leftCopiesMax
        for _ in 0..<Self.leftPagesMax {
            guard
                let page = try? await client.unfinishedUploads(
                    prefix: keys.prefix, after: marker, attempt),
                let now = page.now
            else { return }
            func isOld(_ time: Timestamp?) -> Bool {
                time.map { $0.seconds <= now.seconds - seconds } ?? false
            }
            for upload in page.uploads.filter({ isOld($0.begun) }).prefix(left) {
                left -= 1
                guard let parts = try? await client.parts(of: upload.id, upload.key, attempt),
                    S3CopyMark.isOn(parts.map(\.size)), parts.allSatisfy({ isOld($0.modified) })
                else { continue }
                try? await client.abortUpload(upload.id, upload.key, attempt)
            }
            guard let next = page.next, left > 0, !Task.isCancelled else { return }
            marker = next
        }
    }

    /// What it means that an upload in parts is gone from the store: it begins anew.
    func droppedUpload(_ error: ProviderError, _ attempt: String) -> ProviderError? {
        guard error.refusal?.code == "NoSuchUpload" else { return nil }
        return ProviderError(
            .busy, attempt: attempt, reason: "the store has dropped the upload", cause: error)
    }
}
