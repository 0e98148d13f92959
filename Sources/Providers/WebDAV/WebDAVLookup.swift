import Engine
import ProviderSupport
import Transport

/// Asks the server for the entry at a key.
struct WebDAVLookup: Sendable {
    let client: WebDAVClient
    let server: WebDAVServer

    /// How long a server that makes its tags from the time calls a new one weak.
    static let weakPeriod: Duration = .milliseconds(1_100)

    var clock: any Clock { client.clock }
    var objects: WebDAVObjects { WebDAVObjects(server: server) }

    /// The properties requested of each resource.
    var properties: String {
        "<D:resourcetype/><D:getetag/><D:getcontentlength/><D:getlastmodified/>"
            + "<A:\(WebDAVAttributes.name)/>" + (server.sharesTags ? "<D:creationdate/>" : "")
            + (server.tellsPermissions ? "<O:permissions/>" : "")
            + (server.etagsCoverSubtrees ? Self.identity : "")
    }

    static let identity = "<O:fileid/>"

    /// Returns the object at a key, its version tag being one that lasts.
    func object(at key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        guard let name = key.names.last else {
            return objects.object(try await found(.root), named: WebDAVObjects.rootName).object
        }
        // A server that composes names would answer for another one.
        if WebDAVName.isReserved(name) || server.composesNames && !WebDAVName.isComposed(name) {
            throw ProviderError(.missing, "no such name")
        }
        return try await stable(try await found(key), key, named: name)
    }

    /// Requests one property of the root, beside all other requests.
    func probe() async throws(ProviderError) {
        _ = try await client.propfind(
            client.address.url(.root, isCollection: true), depth: 0,
            properties: "<D:resourcetype/>", waitsForTurn: false)
    }

    /// Returns the entry at a key; nil if there is none, or only a lock.
    ///
    /// - Throws: `.unsupported` for a file whose size the server does not report: taken for an empty
    ///   one, it would be overwritten by an append.
    func entry(
        at key: ObjectKey, properties: String? = nil
    ) async throws(ProviderError) -> WebDAVEntry? {
        let entry = try await anything(at: key, properties ?? self.properties)
        guard key == .root || entry?.isSized ?? true else {
            throw ProviderError(
                .unsupported, "the server does not tell the size of \"\(key)\" (getcontentlength)",
                remedy: "configure the server to send it, or use another name; the remote file is "
                    + "left alone")
        }
        return entry
    }

    /// - Throws: `.missing` if there is none.
    func found(_ key: ObjectKey) async throws(ProviderError) -> WebDAVEntry {
        guard let entry = try await entry(at: key) else { throw .notThere }
        return entry
    }

    /// Whether there is a directory at a key; false if nothing is there.
    func isCollection(_ key: ObjectKey) async throws(ProviderError) -> Bool {
        try await entry(at: key)?.isCollection ?? false
    }

    private func anything(
        at key: ObjectKey, _ properties: String
    ) async throws(ProviderError) -> WebDAVEntry? {
        do throws(ProviderError) {
            return try await entry(at: key, isCollection: key == .root, properties)
        } catch {
            guard error.kind == .unsupported, let parent = key.parent else {
                if error.kind == .missing { return nil }
                throw error
            }
            // Some servers redirect to a collection's name with a slash, and some give no better
            // answer for a name below a file.
            if let entry = try? await entry(at: key, isCollection: true, properties),
                entry.isCollection
            {
                return entry
            }
            guard try await !isCollection(parent) else { throw error }
            return nil
        }
    }

    private func entry(
        at key: ObjectKey, isCollection: Bool, _ properties: String
    ) async throws(ProviderError) -> WebDAVEntry? {
        let multistatus = try await client.propfind(
            client.address.url(key, isCollection: isCollection), depth: 0, properties: properties)
        var found: WebDAVEntry?
        while let entry = try multistatus.next() {
            if client.address.place(of: entry.href, from: key) == .itself { found = entry }
        }
        guard let entry = found else {
            throw ProviderError(.corrupt, "the server's answer is about another resource")
        }
        switch entry.presence {
        case .present: return entry
        case .missing: return nil
        // The root always exists.
        case .lockAlone: return key == .root ? entry : nil
        case .untold where key == .root && entry.status == nil: return entry
        case .untold(let status): throw Self.untold(status, of: key)
        }
    }

    /// The server answers but does not describe the entry; a later request may succeed.
    static func untold(_ status: Int, of key: ObjectKey) -> ProviderError {
        ProviderError(
            .busy,
            status == 0
                ? "the server does not describe \"\(key)\""
                : "the server answered \(status) for \"\(key)\"")
    }

    static let notDirectory = ProviderError(.wrongKind, "it is not a directory")

    // MARK: Versions

    /// Returns the object of an entry once its version tag no longer changes by itself.
    ///
    /// - Parameter afterChange: Whether the entry is the result of our own change. If another version
    ///   is there afterwards, throws `.changed`.
    func stable(
        _ entry: WebDAVEntry, _ key: ObjectKey, named name: FileName, afterChange: Bool = false
    ) async throws(ProviderError) -> RemoteObject {
        let (first, isStable) = objects.object(entry, named: name)
        if isStable { return first }
        try await clock.wait(Self.weakPeriod)
        let later = try await found(key)
        guard
            !afterChange
                || WebDAVVersion(later).opaqueTag == WebDAVVersion(entry).opaqueTag
        else { throw .changedMeanwhile }
        return objects.object(later, named: name).object
    }

    /// Throws unless the key holds what `base` says.
    func expect(
        _ base: BaseVersion, at key: ObjectKey, named name: FileName
    ) async throws(ProviderError) {
        try objects.expect(base, of: try await entry(at: key), named: name)
    }

    // MARK: Conditional changes

    typealias Headers = [(name: String, value: String)]

    /// Returns `If` with the entity tags that were seen (RFC 4918, 10.4), if the server obeys it.
    func matching(_ seen: [(key: ObjectKey, etag: String?)]) -> Headers {
        guard server.obeysIf else { return [] }
        let lists = seen.compactMap { key, etag in
            etag.map { "<\(client.address.url(key))> ([\($0)])" }
        }
        return lists.isEmpty ? [] : [("If", lists.joined(separator: " "))]
    }

    /// Returns `If-Match` for the version that the engine expects, if the server obeys it.
    func ifMatch(_ tag: ETag?) -> Headers {
        guard server.obeysIfMatch, let etag = tag.flatMap(WebDAVVersion.etag(in:)) else {
            return []
        }
        return [("If-Match", etag)]
    }

    func move(
        _ key: ObjectKey, to destination: ObjectKey, isCollection: Bool = false, overwrite: Bool,
        headers: Headers = []
    ) async throws(ProviderError) {
        let answer = try await client.send(
            .move, client.address.url(key, isCollection: isCollection),
            headers: [
                ("Destination", client.address.url(destination, isCollection: isCollection)),
                ("Overwrite", overwrite ? "T" : "F"),
            ] + headers)
        if answer.isSuccess { return }
        if answer.status == 412, !overwrite { throw .nameTaken }
        throw await explained(answer, destination)
    }

    /// Explains a refused change by looking at the parent if the status alone is ambiguous.
    func explained(_ answer: WebDAVAnswer, _ key: ObjectKey) async -> ProviderError {
        let failure = answer.failure
        guard [400, 403, 404, 405, 409, 500].contains(answer.status), let parent = key.parent,
            let isThere = try? await isCollection(parent)
        else { return failure }
        if !isThere { return ProviderError(.missing, "the parent directory does not exist") }
        guard failure.kind == .missing, answer.status == 409 else { return failure }
        return ProviderError(.unreachable, failure.reason)
    }
}
