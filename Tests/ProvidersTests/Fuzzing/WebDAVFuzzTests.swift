import Engine
import Host
import Logging
import Testing
import Transport

@testable import ProviderSupport
@testable import ProviderWebDAV

/// Goal: whatever a WebDAV server answers, it is understood as something that can be, or refused, in
/// no more memory than the answer itself has.
///
/// Method: real answers with bits, bytes, numbers, values and elements changed; see ``Mutator``.
@Suite struct WebDAVFuzzTests {
    private static let address = WebDAVAddress(
        isSecure: false, host: "h", port: nil, path: [Array("dav".utf8)])

    /// One that believes all that a server can tell, and one that is told permissions.
    private static let objects = [
        ["1,2", "<http://apache.org/dav/propset/fs/1>"], ["1, 3, nextcloud-checksum-update"],
    ].map { dav in
        var server = WebDAVServer(dav: dav)
        server.keepsProperties = true
        return WebDAVObjects(server: server)
    }

    private struct Found {
        var entries: [WebDAVEntry] = []
        var objects: [RemoteObject] = []
    }

    /// What a listing of the root makes of an answer that arrives in pieces.
    private func list(
        _ bytes: [UInt8], pieceBytes: Int, _ objects: WebDAVObjects
    ) throws -> Found {
        var found = Found()
        let parser = try MultistatusParser(responsesMax: 1_000)
        let body = SpooledBody(ofStatus: 207, refusalBytesMax: WebDAVClient.answerBytesMax)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieceBytes))
            try parser.feed(piece)
            try piece.withUnsafeBytes { try body.receive($0, of: HTTPResponse(status: 207)) }
            rest = rest.dropFirst(pieceBytes)
        }
        try parser.finish()
        found.entries = Array(parser.entries)
        var listing = WebDAVListing(
            directory: .root, address: Self.address, objects: objects,
            multistatus: try Multistatus(body))
        found.objects = try listing.page(entries: .max).entries.map(\.object)
        return found
    }

    @Test func `real answers are understood`() throws {
        for answer in RealAnswers.multistatus {
            for objects in Self.objects {
                let found = try list(answer, pieceBytes: .max, objects)
                #expect(found.objects.count >= 2)
                expectSense(found.objects)
            }
        }
    }

    @Test(arguments: Fuzz.seeds)
    func `damaged listings make sense or are refused`(seed: UInt64) throws {
        var mutator = Mutator(.xml, seed: seed)
        var understood = 0
        for number in 0..<Fuzz.cases {
            let (_, bytes) = mutator.next(from: RealAnswers.multistatus)
            let pieceBytes = mutator.pieceBytes(of: bytes.count)
            let objects = Self.objects[number % Self.objects.count]
            guard let found = try? list(bytes, pieceBytes: pieceBytes, objects) else { continue }
            understood += 1
            expectSense(found.objects)
            // What is no UTF-8 in its own encoding may become three bytes for one.
            let size = found.entries.reduce(0) { $0 + $1.textBytes }
            #expect(size <= 3 * bytes.count, "\(String(decoding: bytes, as: UTF8.self))")
        }
        // Neither branch was left out.
        #expect((Fuzz.cases / 50..<Fuzz.cases).contains(understood))
    }

    @Test(arguments: Fuzz.seeds)
    func `damaged refusals are refusals`(seed: UInt64) throws {
        var mutator = Mutator(.xml, seed: seed)
        for _ in 0..<Fuzz.cases {
            let (index, bytes) = mutator.next(from: RealAnswers.refusals + RealAnswers.multistatus)
            let status = index % 2 == 0 ? 207 : 403
            let answer = WebDAVAnswer(
                response: HTTPResponse(status: status), body: bytes, time: Timestamp(seconds: 0))
            let reason = answer.failure.reason
            #expect((1...400).contains(reason.utf8.count), "\(reason)")
            #expect(!reason.unicodeScalars.contains { $0.value < 0x20 })
        }
    }

    /// Goal: what has no end ends in a bounded time and memory, wherever in the document it is.
    @Test(arguments: [
        "<", "<a b='", "<a ", "<!--", "<?p ", "<!DOCTYPE ", "<![CDATA[", "&",
        "<response><href>",
    ])
    func `what has no end is refused before it is 32 MiB`(beginning: String) throws {
        let parser = try MultistatusParser()
        let document = Array("<multistatus xmlns=\"DAV:\">\(beginning)".utf8)
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10)
        #expect(throws: XMLError.self) {
            try parser.feed(document)
            for _ in 0..<512 { try parser.feed(piece) }
        }
    }
}

/// What the engine and the kernel rely on.
func expectSense(_ objects: [RemoteObject], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(Set(objects.map(\.name)).count == objects.count, sourceLocation: sourceLocation)
    for object in objects {
        let name = object.name.bytes
        let isName =
            (1...255).contains(name.count) && !name.contains(0) && !name.contains(0x2F)
            && name != [0x2E] && name != [0x2E, 0x2E]
        let hasTag = (object.kind == .file) == (object.etag != nil)
        let hasTarget =
            (object.kind == .symlink) == (object.target != nil)
            && object.target.map { (1...4_095).contains($0.count) && !$0.contains(0) } != false
        let isTime = (0..<1_000_000_000).contains(object.modified.nanosecondsOfSecond)
        #expect(
            isName && hasTag && hasTarget && isTime && object.size <= UInt64(Int64.max)
                && object.mode ?? 0 <= 0o7777, "\(object)", sourceLocation: sourceLocation)
    }
}

extension WebDAVEntry {
    /// Bytes of all that was taken from the answer.
    fileprivate var textBytes: Int {
        let texts =
            [href, etag, length, lastModified, attributes, permissions, quotaAvailable, quotaUsed]
            + lockTokens
        return texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }
}
