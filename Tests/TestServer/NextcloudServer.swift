import Foundation
import Synchronization
import SystemCalls

/// Nextcloud's treatment of files and of uploads in chunks, according to its documentation and its
/// source, in memory. It refuses all that Nextcloud refuses, and some requests more.
///
/// Files are at `/remote.php/dav/files/me/`, uploads at `/remote.php/dav/uploads/me/`.
package final class NextcloudServer: Sendable {
    private struct Node {
        var isCollection: Bool
        var bytes: [UInt8] = []
        var version = 0
        /// `fileid`, which stays with it.
        var identity = 0
        var modified: Int
        /// The text of the dead properties, by their name in XML.
        var properties: [String: String] = [:]
        var permissions: String

        var etag: String { "\"nc\(version)\"" }
    }

    private struct Upload {
        var destination: String
        var chunks: [String: [UInt8]] = [:]
    }

    private struct State {
        var nodes: [String: Node] = [:]
        var uploads: [String: Upload] = [:]
        var versions = 0
    }

    /// An answer on its way.
    package struct Answer {
        package var status: String
        package var headers: [String] = []
        package var body: [UInt8] = []

        init(_ status: String, _ headers: [String] = [], _ body: [UInt8] = []) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    private static let files = "/remote.php/dav/files/me"
    private static let uploads = "/remote.php/dav/uploads/me"

    /// What a chunk that is not the last must have: 5 MiB for real.
    private let chunkBytesMin: Int
    /// Whether a change shows in the etags of all directories above it, as in a user's own storage.
    private let propagates: Bool
    private let state = Mutex(State())

    package init(chunkBytesMin: Int = 5 << 20, propagates: Bool = true) {
        self.chunkBytesMin = chunkBytesMin
        self.propagates = propagates
        state.withLock { Self.addCollection("", &$0) }
    }

    /// Serves it while `body` runs.
    ///
    /// - Parameter interrupt: Asked before each request is carried out; true hangs up instead.
    package func serve(
        interrupt: @escaping @Sendable (ServedRequest) -> Bool = { _ in false },
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        try await ScriptedServer.run(
            { request, connection in
                if request["Expect"] != nil {
                    try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                }
                let bytes = try connection.read(request.bodyBytes)
                if interrupt(request) { throw POSIXError(.ECONNRESET) }
                let answer = self.answer(request, bytes)
                try connection.answer(answer.status, answer.headers, answer.body)
            }, body)
    }

    // MARK: For tests, behind the client's back

    package var uploadNames: [String] { state.withLock { $0.uploads.keys.sorted() } }

    package func bytes(_ path: String) -> [UInt8]? {
        state.withLock { $0.nodes[Self.encoded(path)]?.bytes }
    }

    package func modified(_ path: String) -> Int? {
        state.withLock { $0.nodes[Self.encoded(path)]?.modified }
    }

    /// Nextcloud forgets uploads after a day.
    package func forgetUploads() { state.withLock { $0.uploads = [:] } }

    package func put(_ bytes: [UInt8], at path: String, permissions: String = "RGDNVW") {
        state.withLock { state in
            state.versions += 1
            state.nodes[Self.encoded(path)] = Node(
                isCollection: false, bytes: bytes, version: state.versions,
                identity: state.versions, modified: 1_700_000_000,
                permissions: permissions)
            propagate(Self.encoded(path), &state)
        }
    }

    package func makeDirectory(_ path: String, permissions: String = "RGDNVCK") {
        state.withLock { state in
            Self.addCollection(Self.encoded(path), &state)
            state.nodes[Self.encoded(path)]?.permissions = permissions
            propagate(Self.encoded(path), &state)
        }
    }

    /// Gives a name and all below it another one, in the place of anything there.
    package func move(_ path: String, to target: String) {
        state.withLock { move(Self.encoded(path), to: Self.encoded(target), &$0) }
    }

    /// Removes a name and all below it, if it is there.
    package func remove(_ path: String) {
        state.withLock { _ = delete(Self.encoded(path), &$0) }
    }

    package func isDirectory(_ path: String) -> Bool {
        state.withLock { $0.nodes[Self.encoded(path)]?.isCollection ?? false }
    }

    /// All paths, and the tag of each file.
    package var paths: [String] {
        state.withLock { state in
            state.nodes.filter { !$0.key.isEmpty }.map { key, node in
                "\(key) \(node.isCollection ? "" : node.etag)"
            }
        }
    }

    /// Loses the last byte of a chunk that has arrived, as a disk might.
    package func damage(_ upload: String, chunk: String) {
        state.withLock { _ = $0.uploads[upload]?.chunks[chunk]?.removeLast() }
    }

    private static func addCollection(_ key: String, _ state: inout State) {
        state.versions += 1
        state.nodes[key] = Node(
            isCollection: true, version: state.versions, identity: state.versions,
            modified: 1_700_000_000,
            permissions: "RGDNVCK")
    }

    /// Gives new etags to the directories above a changed name.
    private func propagate(_ key: String, _ state: inout State) {
        var directory = key
        // One for all, as there.
        state.versions += 1
        while !directory.isEmpty {
            directory = Self.parent(directory)
            state.nodes[directory]?.version = state.versions
            if !propagates { return }
        }
    }

    // MARK: Requests

    package func answer(_ request: ServedRequest, _ body: [UInt8]) -> Answer {
        let path = Self.path(request.target)
        return state.withLock { state in
            if path == Self.uploads || path.hasPrefix(Self.uploads + "/") {
                let rest = path.dropFirst(Self.uploads.count).split(separator: "/").map(String.init)
                return answerUpload(rest, request, body, &state)
            }
            guard let key = Self.key(path) else { return Answer("404 Not Found") }
            return answerFile(key, request, body, &state)
        }
    }

    private func answerFile(
        _ key: String, _ request: ServedRequest, _ body: [UInt8], _ state: inout State
    ) -> Answer {
        guard Self.keepsConditions(request, of: state.nodes[key], state) else {
            return Answer("412 Precondition Failed")
        }
        switch request.method {
        case "OPTIONS":
            return Answer(
                "200 OK",
                ["DAV: 1, 3, extended-mkcol, oc-resource-sharing, nextcloud-checksum-update"])
        case "PROPFIND": return listing(key, request, body, state)
        case "PROPPATCH": return patch(key, body, &state)
        case "GET": return Self.content(request, state.nodes[key])
        case "PUT": return store(body, at: key, request, &state)
        case "MKCOL": return makeCollection(key, &state)
        case "DELETE": return delete(key, &state)
        case "MOVE": return move(key, request, &state)
        default: return Answer("501 Not Implemented")
        }
    }

    private func answerUpload(
        _ path: [String], _ request: ServedRequest, _ body: [UInt8], _ state: inout State
    ) -> Answer {
        guard let id = path.first else {
            let entry = Self.response(
                Self.uploads + "/", "<d:resourcetype><d:collection/></d:resourcetype>")
            return request.method == "PROPFIND"
                ? Self.multistatus([entry]) : Answer("403 Forbidden")
        }
        let destination = request["Destination"].flatMap { Self.key(Self.path($0)) }
        if path.count == 1, request.method == "MKCOL" {
            guard let destination else { return Answer("400 Bad Request") }
            guard state.uploads[id] == nil else { return Answer("405 Method Not Allowed") }
            state.uploads[id] = Upload(destination: destination)
            return Answer("201 Created")
        }
        guard let upload = state.uploads[id] else {
            return Answer(request.method == "PUT" ? "409 Conflict" : "404 Not Found")
        }
        switch (request.method, path.count) {
        case ("PROPFIND", 1):
            let chunks = upload.chunks.sorted { $0.key < $1.key }.map { name, bytes in
                Self.response(
                    "\(Self.uploads)/\(id)/\(name)",
                    "<d:getcontentlength>\(bytes.count)</d:getcontentlength>")
            }
            let own = ["\(Self.uploads)/\(id)/", "\(Self.uploads)/\(id)/.file"]
            return Self.multistatus(own.map { Self.response($0, "") } + chunks)
        case ("DELETE", 1):
            state.uploads[id] = nil
            return Answer("204 No Content")
        case ("PUT", 2):
            guard destination == upload.destination, request["OC-Total-Length"] != nil,
                let number = Int(path[1]), (1...10_000).contains(number), path[1].count == 5
            else { return Answer("400 Bad Request") }
            state.uploads[id]?.chunks[path[1]] = body
            return Answer("201 Created")
        case ("MOVE", 2) where path[1] == ".file":
            guard destination == upload.destination else { return Answer("400 Bad Request") }
            return assemble(id, upload, request, &state)
        default: return Answer("405 Method Not Allowed")
        }
    }

    private func assemble(
        _ id: String, _ upload: Upload, _ request: ServedRequest, _ state: inout State
    ) -> Answer {
        let key = upload.destination
        // A condition on the chunks themselves says nothing of the file.
        guard Self.keepsConditions(request, of: nil, state) else {
            return Answer("412 Precondition Failed")
        }
        let isThere = state.nodes[key] != nil
        if isThere, request["Overwrite"] == "F" { return Answer("412 Precondition Failed") }
        let chunks = upload.chunks.sorted { $0.key < $1.key }.map(\.value)
        var bytes: [UInt8] = []
        for chunk in chunks { bytes += chunk }
        guard request["OC-Total-Length"] == "\(bytes.count)",
            chunks.dropLast().allSatisfy({ $0.count >= chunkBytesMin })
        else { return Answer("400 Bad Request") }
        let answer = store(bytes, at: key, request, &state)
        if answer.status.hasPrefix("2") { state.uploads[id] = nil }
        return answer
    }

    // MARK: Files

    private func store(
        _ bytes: [UInt8], at key: String, _ request: ServedRequest, _ state: inout State
    ) -> Answer {
        let old = state.nodes[key]
        guard let parent = state.nodes[Self.parent(key)], parent.isCollection,
            old?.isCollection != true
        else { return Answer("409 Conflict") }
        guard old.map({ $0.permissions.contains("W") }) ?? parent.permissions.contains("C") else {
            return Answer("403 Forbidden")
        }
        state.versions += 1
        var node = old ?? Node(isCollection: false, modified: 0, permissions: "RGDNVW")
        node.bytes = bytes
        node.version = state.versions
        if old == nil { node.identity = state.versions }
        node.modified = request["X-OC-Mtime"].flatMap { Int($0) } ?? 1_700_000_000
        state.nodes[key] = node
        propagate(key, &state)
        return Answer(old == nil ? "201 Created" : "204 No Content")
    }

    private func makeCollection(_ key: String, _ state: inout State) -> Answer {
        guard state.nodes[key] == nil else { return Answer("405 Method Not Allowed") }
        guard let parent = state.nodes[Self.parent(key)], parent.isCollection else {
            return Answer("409 Conflict")
        }
        guard parent.permissions.contains("K") else { return Answer("403 Forbidden") }
        Self.addCollection(key, &state)
        propagate(key, &state)
        return Answer("201 Created")
    }

    private func delete(_ key: String, _ state: inout State) -> Answer {
        guard let node = state.nodes[key] else { return Answer("404 Not Found") }
        guard node.permissions.contains("D") else { return Answer("403 Forbidden") }
        for name in state.nodes.keys where name == key || name.hasPrefix(key + "/") {
            state.nodes[name] = nil
        }
        propagate(key, &state)
        return Answer("204 No Content")
    }

    private func move(_ key: String, _ request: ServedRequest, _ state: inout State) -> Answer {
        guard state.nodes[key] != nil else { return Answer("404 Not Found") }
        guard let target = request["Destination"].flatMap({ Self.key(Self.path($0)) }),
            target != key, !target.hasPrefix(key + "/")
        else { return Answer("403 Forbidden") }
        guard state.nodes[Self.parent(target)]?.isCollection == true else {
            return Answer("409 Conflict")
        }
        let isThere = state.nodes[target] != nil
        if isThere, request["Overwrite"] == "F" { return Answer("412 Precondition Failed") }
        move(key, to: target, &state)
        return Answer(isThere ? "204 No Content" : "201 Created")
    }

    private func move(_ key: String, to target: String, _ state: inout State) {
        if state.nodes[target] != nil { _ = delete(target, &state) }
        for name in state.nodes.keys where name == key || name.hasPrefix(key + "/") {
            state.nodes[target + name.dropFirst(key.count)] = state.nodes.removeValue(forKey: name)
        }
        propagate(key, &state)
        propagate(target, &state)
    }

    private static func content(_ request: ServedRequest, _ node: Node?) -> Answer {
        guard let node else { return Answer("404 Not Found") }
        guard !node.isCollection else { return Answer("501 Not Implemented") }
        let headers = ["ETag: \(node.etag)"]
        guard let range = request["Range"]?.dropFirst("bytes=".count).split(separator: "-"),
            range.count == 2, let first = Int(range[0]), let last = Int(range[1])
        else { return Answer("200 OK", headers, node.bytes) }
        guard first < node.bytes.count else { return Answer("416 Range Not Satisfiable") }
        let part = Array(node.bytes[first...min(last, node.bytes.count - 1)])
        return Answer(
            "206 Partial Content",
            headers + [
                "Content-Range: bytes \(first)-\(first + part.count - 1)/\(node.bytes.count)"
            ],
            part)
    }

    // MARK: Properties

    private func listing(
        _ key: String, _ request: ServedRequest, _ body: [UInt8], _ state: State
    ) -> Answer {
        guard let node = state.nodes[key] else { return Answer("404 Not Found") }
        let asked = String(decoding: body, as: UTF8.self)
        var responses = [Self.response(Self.href(key, node), Self.properties(node, asked))]
        if request["Depth"] == "1" {
            let prefix = key.isEmpty ? "" : key + "/"
            for (name, child) in state.nodes where name != key && name.hasPrefix(prefix) {
                guard !name.dropFirst(prefix.count).contains("/") else { continue }
                responses.append(
                    Self.response(Self.href(name, child), Self.properties(child, asked)))
            }
        }
        return Self.multistatus(responses)
    }

    private static func properties(_ node: Node, _ asked: String) -> String {
        var text = "<d:getlastmodified>\(date(node.modified))</d:getlastmodified>"
        text +=
            node.isCollection
            ? "<d:resourcetype><d:collection/></d:resourcetype>"
            : "<d:resourcetype/><d:getcontentlength>\(node.bytes.count)</d:getcontentlength>"
        text += "<d:getetag>\(node.etag.replacing("\"", with: "&quot;"))</d:getetag>"
        if asked.contains("quota") {
            text += "<d:quota-available-bytes>1000</d:quota-available-bytes>"
            text += "<d:quota-used-bytes>24</d:quota-used-bytes>"
        }
        if asked.contains("O:permissions") {
            text += "<oc:permissions>\(node.permissions)</oc:permissions>"
        }
        if asked.contains("O:fileid") { text += "<oc:fileid>\(node.identity)</oc:fileid>" }
        for (name, value) in node.properties where asked.contains("A:\(name)/") {
            text += "<x:\(name) xmlns:x=\"urn:apus:webdav\">\(value)</x:\(name)>"
        }
        return text
    }

    /// Sets and removes `<A:NAME>`.
    private func patch(_ key: String, _ body: [UInt8], _ state: inout State) -> Answer {
        guard state.nodes[key] != nil else { return Answer("404 Not Found") }
        let text = String(decoding: body, as: UTF8.self)
        let isRemoval = text.contains("<D:remove>")
        guard let start = text.firstRange(of: "<A:") else { return Answer("400 Bad Request") }
        let name = String(text[start.upperBound...].prefix { $0 != ">" && $0 != "/" })
        let value = text[start.upperBound...].dropFirst(name.count + 1).prefix { $0 != "<" }
        state.nodes[key]?.properties[name] = isRemoval ? nil : String(value)
        return Self.multistatus([
            Self.response(
                Self.href(key, state.nodes[key]!), "<x:\(name) xmlns:x=\"urn:apus:webdav\"/>")
        ])
    }

    // MARK: Conditions

    private static func keepsConditions(
        _ request: ServedRequest, of node: Node?, _ state: State
    ) -> Bool {
        if let match = request["If-Match"], node?.isCollection != false || node?.etag != match {
            return false
        }
        if request["If-None-Match"] == "*", node != nil { return false }
        guard let lists = request["If"] else { return true }
        // <url> (["tag"])
        for list in lists.split(separator: "<").map(String.init) {
            let url = list.prefix { $0 != ">" }
            let tag = list.drop { $0 != "[" }.dropFirst().prefix { $0 != "]" }
            guard let key = key(path(String(url))), state.nodes[key]?.etag == String(tag) else {
                return false
            }
        }
        return true
    }

    // MARK: Text

    /// The path of a URL, as it is written: decoded, `é` in its two normal forms would be one key.
    private static func path(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        return String(url[scheme.upperBound...].drop { $0 != "/" })
    }

    private static func encoded(_ path: String) -> String {
        path.split(separator: "/").map { PercentCoding.encode($0.utf8) }.joined(separator: "/")
    }

    /// The path below the user's files, without slashes at its ends, its names composed; nil for any
    /// other.
    private static func key(_ path: String) -> String? {
        guard path == files || path.hasPrefix(files + "/") else { return nil }
        let names = path.dropFirst(files.count).split(separator: "/").map { part in
            let bytes = PercentCoding.decode(part) ?? []
            let name = String(decoding: bytes, as: UTF8.self)
            return PercentCoding.encode(name.precomposedStringWithCanonicalMapping.utf8)
        }
        return names.joined(separator: "/")
    }

    private static func parent(_ key: String) -> String {
        key.split(separator: "/").dropLast().joined(separator: "/")
    }

    private static func href(_ key: String, _ node: Node) -> String {
        "\(files)/\(key)" + (node.isCollection && !key.isEmpty ? "/" : "")
    }

    private static func date(_ seconds: Int) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: Date(timeIntervalSince1970: Double(seconds)))
    }

    private static func response(_ href: String, _ properties: String) -> String {
        "<d:response><d:href>\(href)</d:href><d:propstat><d:prop>\(properties)</d:prop>"
            + "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
    }

    private static func multistatus(_ responses: [String]) -> Answer {
        let text =
            "<?xml version=\"1.0\"?><d:multistatus xmlns:d=\"DAV:\" xmlns:oc=\"http://owncloud.org/ns\">"
            + responses.joined() + "</d:multistatus>"
        return Answer(
            "207 Multi-Status", ["Content-Type: application/xml; charset=utf-8"], Array(text.utf8))
    }
}
