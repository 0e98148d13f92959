import Engine
import SystemCalls

// Multipart uploads that a crash or a lost answer left unfinished. S3 does not tell who started one;
// docs/decisions/008-left-uploads.md explains how ours are recognised.

/// Recognises a multipart upload whose id was never received. It is saved before the upload starts.
struct S3UploadIntent: Hashable, Sendable {
    /// The store's clock right before, in seconds since 1970 UTC.
    let since: Int64
    /// Uploads to the same key that existed then.
    let others: [String]

    /// With more of them, ours could not be recognised anyway.
    static let othersMax = 16
    private static let word = "begin"
    /// How far apart the clocks of one store's machines may be, in seconds.
    private static let slack: Int64 = 60
    /// S3 refuses requests with an older signature.
    private static let signatureSeconds: Int64 = 900

    var token: UploadToken {
        let words = [Self.word, String(since)] + others.map { PercentCoding.encode($0) }
        return UploadToken(words.joined(separator: " "))
    }

    /// Whether an upload to the same key may be the intended one.
    func mayBe(_ upload: S3Client.Unfinished) -> Bool {
        guard let begun = upload.begun, !others.contains(upload.id) else { return false }
        return (since - Self.slack...since + Self.signatureSeconds).contains(begun.seconds)
    }
}

extension S3UploadIntent {
    init?(_ token: UploadToken) {
        let words = token.rawValue.split(separator: " ")
        guard words.count >= 2, words[0] == Self.word, let since = Int64(words[1]) else {
            return nil
        }
        let others = words.dropFirst(2).compactMap { PercentCoding.decode(String($0)) }
        self.init(since: since, others: others.map { String(decoding: $0, as: UTF8.self) })
    }
}

/// Marks the multipart uploads that are copies of ours by an unusual part size, the only property
/// that we choose and that S3 lists.
enum S3CopyMark {
    private static let unit: UInt64 = 1 << 20
    private static let rest: UInt64 = 0xA9055

    static func partBytes(atLeast bytes: UInt64) -> UInt64 {
        (bytes + unit - 1) / unit * unit + rest
    }

    /// - Parameter sizes: The sizes of the parts; the last part of a copy is smaller.
    static func isOn(_ sizes: [UInt64]) -> Bool {
        let others = sizes.filter { $0 % unit != rest }
        return others.count < sizes.count && others.count <= 1
    }
}

/// Aborts multipart uploads that will never be continued.
struct S3LeftUploads: Sendable {
    let client: S3Client

    /// Returns the intent to save before an upload to a key starts.
    ///
    /// - Returns: nil if the store does not tell enough; a lost upload then stays there.
    func intent(_ key: S3Key) async throws(ProviderError) -> S3UploadIntent? {
        do throws(ProviderError) {
            let found = try await client.unfinishedUploads(prefix: key)
            let others = found.uploads.filter { $0.key == key }.map(\.id)
            guard let now = found.now, others.count <= S3UploadIntent.othersMax else { return nil }
            return S3UploadIntent(since: now.seconds, others: others)
        } catch {
            // Listing uploads may not be permitted; the upload itself matters more.
            if error.kind == .cancelled { throw error }
            return nil
        }
    }

    /// Aborts the upload of a saved intent, if the store received the request and only the answer
    /// was lost.
    ///
    /// It has no parts, so another client whose upload it really is loses none. If several uploads
    /// match, ours cannot be recognised, and all of them stay.
    func abortLost(_ intent: S3UploadIntent, of key: S3Key) async throws(ProviderError) {
        let found = try await client.unfinishedUploads(prefix: key).uploads
            .filter { $0.key == key && intent.mayBe($0) }
        guard found.count == 1, let upload = found.first,
            try await client.parts(of: upload.id, key)?.isEmpty == true
        else { return }
        try await client.abortUpload(upload.id, key)
    }

    /// A copy without any progress for this long is abandoned: each of its requests ends within ten
    /// minutes.
    private static let leftCopySeconds: Int64 = 3_600
    /// Bounds on the pages listed and the uploads inspected: an hour's worth of requests.
    private static let pagesMax = 100
    private static let copiesMax = 10_000

    /// Aborts multipart copies below the prefix that a crash left unfinished, in whichever mount.
    ///
    /// Failures are ignored: the next mount tries again.
    func abortLeftCopies(olderThan seconds: Int64 = leftCopySeconds) async {
        var marker: S3Client.UploadMarker?
        var left = Self.copiesMax
        for _ in 0..<Self.pagesMax {
            guard
                let page = try? await client.unfinishedUploads(
                    prefix: client.settings.prefix, after: marker),
                let now = page.now
            else { return }
            func isOld(_ time: Timestamp?) -> Bool {
                time.map { $0.seconds <= now.seconds - seconds } ?? false
            }
            for upload in page.uploads.filter({ isOld($0.begun) }).prefix(left) {
                left -= 1
                guard let parts = try? await client.parts(of: upload.id, upload.key),
                    S3CopyMark.isOn(parts.map(\.size)), parts.allSatisfy({ isOld($0.modified) })
                else { continue }
                try? await client.abortUpload(upload.id, upload.key)
            }
            guard let next = page.next, left > 0, !Task.isCancelled else { return }
            marker = next
        }
    }
}
