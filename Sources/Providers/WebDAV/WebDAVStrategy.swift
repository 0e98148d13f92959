import Engine
import ProviderSupport

/// One way to store a file so that its base version is guarded and other clients see the old version
/// or the new one.
protocol WebDAVStrategy: Sendable {
    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject
}

/// One PUT that the server guards by `If-Match` or `If-None-Match`, and that takes effect in one step.
struct ConditionalUpload: WebDAVStrategy {
    let sender: WebDAVSender

    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        var headers: WebDAVSender.Headers = []
        switch upload.base {
        case .absent: headers.append(("If-None-Match", "*"))
        case .version(let tag):
            if let etag = WebDAVVersion.etag(in: tag) {
                headers.append(("If-Match", etag))
            } else {
                try await sender.expectBase(of: upload)
            }
        }
        if sender.lookup.server.takesModified {
            headers.append(("X-OC-Mtime", "\(upload.attributes.modified.seconds)"))
        }
        let answer = try await sender.put(upload, at: upload.key, headers)
        guard answer.isSuccess else { throw await sender.refusal(answer, of: upload) }
        return try await cleaningUp { () async throws(ProviderError) in
            let entry = try await sender.stored(upload, at: upload.key, answer)
            return try await sender.describe(entry, upload, at: upload.key)
        }
    }
}

/// One PUT that takes effect in one step. The server checks its condition, a tag in `If`, only when it
/// begins, which is good enough for a short one.
struct DirectUpload: WebDAVStrategy {
    let sender: WebDAVSender
    /// Excludes our own uploads of the same file between the check and the effect.
    private let keys = KeyedMutex()

    /// Larger files are staged.
    static let bytesMax: UInt64 = 1 << 20

    init(sender: WebDAVSender) {
        self.sender = sender
    }

    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        try await keys.with([upload.key]) { () async throws(ProviderError) in
            let entry = try await sender.lookup.entry(at: upload.key)
            try sender.lookup.objects.expect(upload.base, of: entry, named: upload.name)
            let conditions =
                entry == nil
                ? [("If-None-Match", "*")]
                : sender.lookup.conditions.matching([(upload.key, entry?.etag)])
            let stored = try await sender.putDistinct(upload, at: upload.key, conditions) {
                conditions async throws(ProviderError) in
                try await sender.put(upload, at: upload.key, conditions)
            }
            return try await cleaningUp { () async throws(ProviderError) in
                try await sender.describe(stored, upload, at: upload.key)
            }
        }
    }
}
