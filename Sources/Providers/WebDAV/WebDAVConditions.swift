import Engine

/// Header fields that make a change depend on versions seen before, as far as the server obeys them.
struct WebDAVConditions: Sendable {
    let server: WebDAVServer
    let address: WebDAVAddress

    /// `If` with the entity tags that were seen (RFC 4918, 10.4).
    func matching(_ seen: [(key: ObjectKey, etag: String?)]) -> [(name: String, value: String)] {
        guard server.obeysIf else { return [] }
        let lists = seen.compactMap { key, etag in
            etag.map { "<\(address.url(key))> ([\($0)])" }
        }
        return lists.isEmpty ? [] : [("If", lists.joined(separator: " "))]
    }

    /// `If-Match` for the version that the engine expects.
    func ifMatch(_ tag: ETag?) -> [(name: String, value: String)] {
        guard server.obeysIfMatch, let etag = tag.flatMap(WebDAVVersion.etag(in:)) else {
            return []
        }
        return [("If-Match", etag)]
    }
}
