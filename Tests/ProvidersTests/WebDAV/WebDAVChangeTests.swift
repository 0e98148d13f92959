import Engine
import Foundation
import Host
import Logging
import ProviderConformance
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderSupport
@testable import ProviderWebDAV

/// A few files behind a scripted server, and somebody else who comes in between.
private final class TinyDAV: Sendable {
    struct File {
        var etag: String
        var size: Int
        var modified = "Sat, 21 Nov 2026 08:09:57 GMT"
        /// What PROPPATCH has set.
        var properties = ""
    }

    /// Changes the files right after a request was answered.
    typealias Intruder = @Sendable (ServedRequest, inout [String: File]) -> Void

    /// Both the headers `DAV` and what a PUT is answered with.
    let dav: String
    let answersWithTag: Bool
    let files: Mutex<[String: File]>
    private let clock: any Clock
    private let isLocked: @Sendable () -> Bool
    private let intruder: Intruder

    /// - Parameter isLocked: Whether another client has a lock, asked at each LOCK.
    init(
        dav: String, answersWithTag: Bool = false, files: [String: File] = [:],
        clock: any Clock = SystemClock(), intruder: @escaping Intruder = { _, _ in },
        isLocked: @escaping @Sendable () -> Bool = { false }
    ) {
        self.dav = dav
        self.answersWithTag = answersWithTag
        self.files = Mutex(files)
        self.clock = clock
        self.isLocked = isLocked
        self.intruder = intruder
    }

    func run(_ body: (WebDAVProvider, ScriptedServer) async throws -> Void) async throws {
        try await ScriptedServer.run { request, connection in
            let body = String(decoding: try connection.read(request.bodyBytes), as: UTF8.self)
            let answer = self.files.withLock { files in
                let answer = self.answer(request, body, &files)
                self.intruder(request, &files)
                return answer
            }
            try connection.write(answer)
            connection.hangUp()
        } _: { server in
            let provider = try await WebDAVProvider.connect(
                to: "webdav+http://127.0.0.1:\(server.port)/dav",
                world: ProviderEnvironment(
                    clock: self.clock, transport: HTTPTransport(), logger: Logger(label: "test")))
            try await body(provider, server)
        }
    }

    private func answer(
        _ request: ServedRequest, _ body: String, _ files: inout [String: File]
    ) -> String {
        let target = request.target
        switch request.method {
        case "OPTIONS": return text("200 OK", ["DAV: \(dav)"])
        case "PROPFIND" where target == "/dav/":
            return found(target, "<resourcetype><collection/></resourcetype>")
        case "PROPFIND":
            guard let file = files[target] else { return text("404 Not Found") }
            return found(
                target,
                "<getetag>\(file.etag)</getetag><getcontentlength>\(file.size)</getcontentlength>"
                    + "<getlastmodified>\(file.modified)</getlastmodified>" + file.properties)
        case "PROPPATCH":
            let parts = body.components(separatedBy: "A:attributes>")
            guard parts.count == 3 else { return text("405 Method Not Allowed") }
            files[target]?.properties =
                "<attributes xmlns=\"urn:apus:webdav\">\(parts[1].dropLast(2))</attributes>"
            return text("200 OK")
        case "PUT":
            let file = File(etag: "\"put\"", size: Int(request.bodyBytes))
            files[target] = file
            return text("201 Created", answersWithTag ? ["ETag: \(file.etag)"] : [])
        case "MOVE":
            let path = (request["Destination"] ?? "").split(separator: "/").dropFirst(2)
            files["/" + path.joined(separator: "/")] = files.removeValue(forKey: target)
            return text("201 Created")
        case "LOCK" where isLocked(): return text("423 Locked")
        case "LOCK":
            let isNew = files[target] == nil
            if isNew { files[target] = File(etag: "\"made\"", size: 0) }
            return text(isNew ? "201 Created" : "200 OK", ["Lock-Token: <opaquelocktoken:1>"])
        case "UNLOCK": return text("204 No Content")
        case "DELETE":
            return text(files.removeValue(forKey: target) == nil ? "404 Not Found" : "204 Done")
        default: return text("405 Method Not Allowed")
        }
    }

    private func text(_ status: String, _ headers: [String] = [], _ body: String = "") -> String {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers
        return (lines + ["Connection: close", "", body]).joined(separator: "\r\n")
    }

    private func found(_ href: String, _ properties: String) -> String {
        text(
            "207 Multi-Status", [],
            "<multistatus xmlns=\"DAV:\"><response><href>\(href)</href><propstat><prop>\(properties)"
                + "</prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>")
    }
}

private struct TenBytes: ByteSource {
    let size: UInt64 = 10

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        let count = min(buffer.count, Int(size - min(offset, size)))
        buffer[..<count].initializeMemory(as: UInt8.self, repeating: 7)
        return count
    }
}

/// What another client does at the moment of a change of ours.
@Suite struct WebDAVChangeTests {
    private static let nextcloud = "1, 3, nextcloud-checksum-update"
    private static let apache = "1,2, <http://apache.org/dav/propset/fs/1>"
    private static let foreign = TinyDAV.File(
        etag: "\"foreign\"", size: 10, modified: "Sat, 21 Nov 2026 08:10:00 GMT")

    private func key() throws -> ObjectKey { ObjectKey([try #require(FileName("file"))]) }

    private func write(
        _ provider: WebDAVProvider, base: BaseVersion
    ) async throws -> RemoteObject {
        try await provider.write(
            try key(), from: TenBytes(),
            attributes: ObjectAttributes(modified: Timestamp(seconds: 0), mode: 0o644), base: base,
            session: UntrackedUpload())
    }

    @Test func `a version that follows ours at once is not taken for it, by the tag of the PUT`()
        async throws
    {
        let store = TinyDAV(dav: Self.nextcloud, answersWithTag: true) { request, files in
            if request.method == "PUT" { files[request.target] = Self.foreign }
        }
        try await store.run { provider, _ in
            let error = await #expect(throws: ProviderError.self) {
                try await write(provider, base: .absent)
            }
            #expect(error?.kind == .changed)
        }
    }

    @Test(arguments: [true, false])
    func `a version that follows ours at once is not taken for it, by what was moved`(
        isNew: Bool
    ) async throws {
        let old = TinyDAV.File(etag: "\"old\"", size: 3)
        let store = TinyDAV(dav: "1", files: isNew ? [:] : ["/dav/file": old]) { request, files in
            if request.method == "MOVE" { files["/dav/file"] = Self.foreign }
        }
        try await store.run { provider, _ in
            let error = await #expect(throws: ProviderError.self) {
                try await write(provider, base: isNew ? .absent : .version(ETag("\"old\"")))
            }
            #expect(error?.kind == .changed)
        }
    }

    // MARK: Locks

    /// Writes to a server of class 2 on which another client has a lock for so long.
    ///
    /// - Returns: The times of our attempts to take it, from the first one on, and the failure.
    private func write(
        lockedFor time: Duration
    ) async throws -> (attempts: [Duration], failure: ProviderError.Kind?) {
        let clock = ClockAtOnce()
        let attempts = Mutex<[Duration]>([])
        let old = TinyDAV.File(etag: "\"old\"", size: 3)
        let store = TinyDAV(
            dav: "1,2", files: ["/dav/file": old], clock: clock,
            isLocked: {
                attempts.withLock { attempts in
                    attempts.append(clock.uptime)
                    return clock.uptime - attempts[0] < time
                }
            })
        let failure = Mutex<ProviderError.Kind?>(nil)
        try await store.run { provider, server in
            do {
                _ = try await write(provider, base: .version(ETag(old.etag)))
            } catch let error as ProviderError {
                failure.withLock { $0 = error.kind }
            }
            let locks = server.requests.filter { $0.method == "LOCK" }
            #expect(locks.allSatisfy { $0["Timeout"] == "Second-60" })
        }
        let times = attempts.withLock { attempts in attempts.map { $0 - attempts[0] } }
        return (times, failure.withLock(\.self))
    }

    @Test func `a foreign lock is waited for up to ten seconds, ours ends by itself after sixty`()
        async throws
    {
        #expect(try await write(lockedFor: .zero) == ([.zero], nil))
        #expect(try await write(lockedFor: .milliseconds(9_900)).failure == nil)
        let (attempts, failure) = try await write(lockedFor: .seconds(60))
        #expect(failure == .busy)
        // The pauses are of two seconds at most.
        let last = try #require(attempts.last)
        #expect(last >= .seconds(10) && last < .seconds(12))
    }

    @Test func `without anybody in between, a write tells the version that it made`() async throws {
        for store in [
            TinyDAV(dav: Self.nextcloud, answersWithTag: true), TinyDAV(dav: "1"),
            TinyDAV(dav: "1, 2"),
        ] {
            try await store.run { provider, _ in
                let made = try await write(provider, base: .absent)
                #expect(made.etag == ETag("\"put\""))
            }
        }
    }

    @Test func `what is there after an exchange is looked at before the lock is given back`()
        async throws
    {
        let old = TinyDAV.File(etag: "\"old\"", size: 3)
        let store = TinyDAV(dav: "1, 2", files: ["/dav/file": old]) { request, files in
            if request.method == "UNLOCK" { files["/dav/file"] = Self.foreign }
        }
        try await store.run { provider, _ in
            let made = try await write(provider, base: .version(ETag("\"old\"")))
            #expect(made.etag == ETag("\"put\""))
        }
    }

    @Test func `a weak tag is in no condition, but for Apache's`() async throws {
        let weak = TinyDAV.File(etag: "W/\"1\"", size: 3)
        let base = WebDAVVersion(
            etag: weak.etag, lastModified: weak.modified, size: 3
        ).versionTag(isStable: false)
        for dav in [Self.nextcloud, "1", "1, 2"] {
            let store = TinyDAV(dav: dav, files: ["/dav/file": weak])
            try await store.run { provider, server in
                _ = try await write(provider, base: .version(base))
                let found = try await provider.stat(try key())
                try await provider.delete(try key(), kind: .file, etag: found.etag)
                for request in server.requests {
                    let conditions = [request["If"], request["If-Match"]].compactMap(\.self)
                    #expect(!conditions.contains { $0.contains("W/") || $0.contains("~") })
                }
            }
        }
    }

    @Test func `versions of ours with one tag are told apart wherever a move brings them`()
        async throws
    {
        // Every PUT has the same tag, as on Apache within a tick of its clock.
        let store = TinyDAV(dav: Self.apache)
        try await store.run { provider, _ in
            func key(_ name: String) throws -> ObjectKey {
                ObjectKey([try #require(FileName(name))])
            }
            func write(_ name: String, base: BaseVersion = .absent) async throws -> ETag {
                let made = try await provider.write(
                    try key(name), from: TenBytes(),
                    attributes: ObjectAttributes(modified: Timestamp(seconds: 0), mode: 0o644),
                    base: base, session: UntrackedUpload())
                return try #require(made.etag)
            }
            func expectChange(_ body: () async throws -> Void) async {
                let error = await #expect(throws: ProviderError.self) { try await body() }
                #expect(error?.kind == .changed)
            }
            let (a, b) = (try await write("a"), try await write("b"))
            #expect(try await provider.stat(try key("a")).etag == a)
            let moved = try await provider.move(
                try key("a"), etag: a, to: try key("c"), base: .absent)
            _ = try await provider.move(try key("b"), etag: b, to: try key("a"), base: .absent)
            #expect(try await provider.stat(try key("c")).etag == moved.etag)
            #expect(try await provider.stat(try key("a")).etag != a)
            await expectChange { _ = try await write("a", base: .version(a)) }
            await expectChange { try await provider.delete(try key("a"), kind: .file, etag: a) }
            await expectChange {
                _ = try await provider.move(
                    try key("c"), etag: moved.etag, to: try key("a"), base: .version(a))
            }
            // A mode that is set leaves the version as it is.
            let changed = try await provider.setAttributes(
                try key("c"), to: ObjectAttributes(modified: Timestamp(seconds: 5), mode: 0o600),
                etag: moved.etag)
            #expect(changed.etag == moved.etag)
        }
    }

    @Test func `a lock on a name that has just become free leaves nothing there`() async throws {
        let file = TinyDAV.File(etag: "\"1\"", size: 10)
        let looks = Mutex(0)
        let store = TinyDAV(dav: "1, 2", files: ["/dav/file": file]) { request, files in
            guard request.method == "PROPFIND", request.target == "/dav/file" else { return }
            // Somebody deletes it between our first look and the lock.
            let isFirst = looks.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { files["/dav/file"] = nil }
        }
        try await store.run { provider, server in
            let error = await #expect(throws: ProviderError.self) {
                try await provider.delete(
                    try key(), kind: .file, etag: ETag("\"1\""))
            }
            #expect(error?.kind == .missing)
            #expect(store.files.withLock { $0.isEmpty })
            let deletion = try #require(server.requests.first { $0.method == "DELETE" })
            #expect(deletion["If"]?.contains("opaquelocktoken:1") == true)
            #expect(server.requests.last?.method == "UNLOCK")
        }
    }
}
