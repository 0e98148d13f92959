import Engine
import Glibc
import Host
import Logging
import SystemCalls
import Testing
import Transport

@testable import ProviderSupport
@testable import ProviderWebDAV

@Suite struct WebDAVTypesTests {
    private let address = WebDAVAddress(
        isSecure: true, host: "cloud.example.org", port: 8443,
        path: [Array("dav".utf8), Array("my files".utf8)])

    private func key(_ names: [UInt8]...) throws -> ObjectKey {
        ObjectKey(try names.map { try #require(FileName($0)) })
    }

    // MARK: Addresses

    @Test func `a URL holds any bytes of a name`() throws {
        let key = try key(Array("a/b".utf8.filter { $0 != 0x2F }), [0xFF, 0x25, 0x3F, 0x0A])
        #expect(address.url == "https://cloud.example.org:8443/dav/my%20files/")
        #expect(address.url(key) == "https://cloud.example.org:8443/dav/my%20files/ab/%FF%25%3F%0A")
        #expect(address.place(of: address.url(key), from: key) == .itself)
    }

    @Test(arguments: [
        ("/dav/my%20files", "itself"), ("/dav/my%20files/", "itself"),
        ("/dav//my files//", "itself"),
        ("http://other:1/dav/my%20files/", "itself"),
        ("/dav/my%20files/a", "a"), ("/dav/my%20files/a/", "a"), ("/dav/my%20files/%61?x#y", "a"),
        ("/dav/my%20files/..", "elsewhere"), ("/dav/my%20files/%2e%2e", "elsewhere"),
        ("/dav/my%20files/../my%20files/a", "elsewhere"),
        ("/dav/my%20files/a%2Fb", "odd"), ("/dav/my%20files/a%00b", "odd"),
        ("/dav/my%20files/a/b", "elsewhere"), ("/dav", "elsewhere"), ("/other/a/b", "elsewhere"),
        ("/dav/my%20filesa", "elsewhere"), ("a", "elsewhere"), ("/dav/my%20files/%zz", "elsewhere"),
        ("", "elsewhere"), ("//", "elsewhere"),
    ])
    func `an href is the resource, a child, or nothing of ours`(href: String, place: String) throws
    {
        let expected: WebDAVAddress.Place =
            switch place {
            case "itself": .itself
            case "elsewhere": .elsewhere
            case "odd": .oddChild
            default: .child(try #require(FileName(place)))
            }
        #expect(address.place(of: href, from: .root) == expected)
    }

    // MARK: Versions

    @Test func `a strong tag is the mark, a weak one only a part of it`() {
        let time = "Sat, 21 Nov 2026 08:09:57 GMT"
        let strong = WebDAVVersion(etag: "\"a;b\"", lastModified: time, size: 5)
        let weak = WebDAVVersion(etag: "W/\"a;b\"", lastModified: time, size: 5)
        let none = WebDAVVersion(etag: nil, lastModified: time, size: 5)
        #expect(strong.versionTag(isStable: false) == ETag("\"a;b\""))
        #expect(weak.versionTag(isStable: true) == ETag("\"a;b\""))
        let marks = [strong, weak, none].map { $0.versionTag(isStable: false) }
        #expect(Set(marks).count == 3)
        #expect(marks.map(WebDAVVersion.etag(in:)) == ["\"a;b\"", nil, nil])
        for mark in marks {
            #expect(none.canBe(mark))
            let another = WebDAVVersion(etag: "\"c\"", lastModified: time, size: 6)
            #expect(!another.canBe(mark))
        }
        #expect(strong.canBe(marks[1]))
        #expect(weak.canBe(marks[0]))
        #expect(!WebDAVVersion(etag: nil, lastModified: nil, size: 6).canBe(marks[2]))
    }

    @Test func `a mark tells more than a tag, and telling more makes no other version`() {
        let time = "Sat, 21 Nov 2026 08:09:57 GMT"
        let created = "2026-11-21T08:09:57Z"
        let version = WebDAVVersion(etag: "\"a b\"", lastModified: time, size: 5)
        func mark(_ created: String?, _ word: String?) -> ETag {
            version.versionTag(isStable: true, created: created, nonce: word)
        }
        let words = [Hexadecimal.nonce(), Hexadecimal.nonce()]
        let steps =
            [mark(nil, nil), mark(created, nil)] + words.map { mark(created, $0) }
        #expect(Set(steps + [mark(nil, words[0])]).count == 5)
        for mark in steps {
            #expect(WebDAVVersion.etag(in: mark) == "\"a b\"")
            #expect(version.canBe(mark))
        }
        for (former, mark, isSame) in [
            (0, 0, true), (0, 1, true), (0, 2, true), (1, 2, true), (1, 0, false), (2, 1, false),
            (2, 3, false),
        ] {
            #expect(WebDAVVersion.isSame(steps[former], as: steps[mark]) == isSame)
        }
        #expect(!WebDAVVersion.isSame(mark(created, nil), as: mark("2026-11-21T08:09:58Z", nil)))
        let moved = "2026-11-21T09:00:00Z"
        #expect(WebDAVVersion.hasSameBytes(steps[2], as: mark(moved, words[0])))
        #expect(!WebDAVVersion.hasSameBytes(steps[2], as: mark(moved, words[1])))
        // Another client's files of equal size and time have equal tags on Apache.
        #expect(!WebDAVVersion.hasSameBytes(steps[1], as: mark(moved, nil)))
        #expect(!WebDAVVersion.isSame(ETag("\"a\""), as: mark(created, nil)))
    }

    @Test func `attributes come back as they were set`() {
        let attributes = ObjectAttributes(
            modified: Timestamp(seconds: -5, nanoseconds: 123_456_789), mode: 0o4755)
        let target = Array("../a b/\u{e9}".utf8) + [0xFF]
        let kept = WebDAVAttributes(
            attributes, etag: "\"5 6\"", nonce: Hexadecimal.nonce(), target: target)
        #expect(kept.text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x3C && $0 != 0x26 })
        #expect(WebDAVAttributes(parsing: kept.text) == kept)
    }

    @Test func `extended attributes come back as they were set, and others are not taken`() {
        var attributes = ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o644)
        attributes.extendedAttributes[Array("user.a b:=<".utf8)] = Array(0...255)
        attributes.extendedAttributes[Array("user.empty".utf8)] = []
        let kept = WebDAVAttributes(attributes, etag: "\"5-6\"")
        #expect(kept.text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x3C && $0 != 0x26 })
        #expect(WebDAVAttributes(parsing: kept.text) == kept)
        #expect(WebDAVAttributes.room.bytes(attributes.extendedAttributes) < kept.text.utf8.count)
        for word in ["xattr=user.a", "xattr=user.a:b:c", "xattr=security.a:b", "xattr=user.a%:"] {
            #expect(WebDAVAttributes(parsing: word).extendedAttributes.isEmpty)
        }
    }

    @Test(arguments: [
        "", "mode", "mode=", "mode=9", "mode=77777", "modified=1", "modified=1.5",
        "modified=x.000000000",
        "of=%", "version=", "version=0123 456789abcde", "target=", "target=%00", "=", " = = ",
        "later=thing",
    ])
    func `attributes that make no sense are not set`(text: String) {
        let attributes = WebDAVAttributes(parsing: text)
        #expect(attributes.mode == nil && attributes.modified == nil && attributes.target == nil)
        #expect(attributes.nonce == nil)
    }

    @Test(
        arguments: [
            ("bytes 0-99/1234", 0..<100, 1_234), ("bytes 5-5/6", 5..<6, 6),
            ("bytes 0-0/*", 0..<1, nil),
        ] as [(String, Range<UInt64>, UInt64?)])
    func `a content range is read`(text: String, range: Range<UInt64>, total: UInt64?) throws {
        let found = try #require(ContentRange(text))
        #expect(found.range == range)
        #expect(found.total == total)
    }

    @Test(arguments: [
        "", "bytes", "bytes */100", "bytes 5-4/10", "bytes 0-9/5", "bytes 0-9", "items 0-9/10",
        "bytes 0-18446744073709551615/*", "bytes -1-5/10", "bytes 0-9/x",
    ])
    func `what is no content range is refused`(text: String) {
        #expect(ContentRange(text) == nil)
    }

    // MARK: Servers

    @Test func `servers are told apart by what they call themselves`() {
        let apache = WebDAVServer(dav: ["1,2", "<http://apache.org/dav/propset/fs/1>"])
        #expect(apache.replacing == .directly && !apache.locks && apache.keepsProperties)
        let nextcloud = WebDAVServer(
            dav: ["1, 3, extended-mkcol, access-control, oc-resource-sharing, nextcloud-checksum"])
        #expect(nextcloud.replacing == .conditionally && !nextcloud.locks)
        let other = WebDAVServer(dav: ["1, 2"])
        #expect(other.replacing == .staged && other.locks && !other.keepsProperties)
        #expect(!WebDAVServer(dav: ["1"]).locks)
        #expect(WebDAVServer(dav: ["2"]).hidesDotNames && !other.hidesDotNames)
    }

    @Test(
        arguments: [
            (["2"], Array(".env".utf8), "\".env\"", "Apache"),
            (
                ["1,2", "<http://apache.org/dav/propset/fs/1>"], Array(".davfs.tmpX".utf8),
                "\".davfs.tmpX\"", "another name"
            ),
            (["1, 2"], Array(".apus-new-0123456789abcdef".utf8), "\".apus-new-", "another name"),
            (["1, 2"], [0x61, 0xFF], "UTF-8", "another name"),
            (["1, 3, nextcloud-checksum"], Array("e\u{301}".utf8), "NFC", "rename \"e\u{301}\""),
        ] as [([String], [UInt8], String, String)])
    func `a name that cannot be stored is named, with what to do`(
        dav: [String], name: [UInt8], reason: String, remedy: String
    ) throws {
        let key = ObjectKey([try #require(FileName(name))])
        let error = #expect(throws: ProviderError.self) {
            try WebDAVServer(dav: dav).storableName(of: key)
        }
        #expect(error?.kind == .unsupported)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        #expect(error?.remedy?.contains(remedy) == true, "\(error?.remedy ?? "")")
    }

    // MARK: Listings

    @Test func `an answer comes back as it was, from memory and from a file`() throws {
        for count in [0, 1, 200_000, 300_000, 3_000_000] {
            let sent = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 9) }
            let body = SpooledBody(ofStatus: 207, refusalBytesMax: WebDAVClient.answerBytesMax)
            for start in stride(from: 0, to: count, by: 16_000) {
                try sent[start...].prefix(16_000).withUnsafeBytes {
                    try body.receive($0, of: HTTPResponse(status: 207))
                }
            }
            var read: [UInt8] = []
            while case let piece = try body.bytes(at: read.count, max: 70_000), !piece.isEmpty {
                read += piece
            }
            #expect(read == sent)
        }
    }

    /// Goal: an answer without an end does not fill the disk.
    @Test func `an answer is refused that is longer than the bound`() throws {
        let body = SpooledBody(ofStatus: 207, bytesMax: 1 << 20, refusalBytesMax: 0)
        func receive(_ count: Int) throws {
            try [UInt8](repeating: 1, count: count).withUnsafeBytes {
                try body.receive($0, of: HTTPResponse(status: 207))
            }
        }
        try receive(1 << 19)
        try receive(1 << 19)
        let error = try #require(throws: SpooledBody.TooLong.self) { try receive(1) }
        #expect("\(error)" == "it has more than 1048576 bytes")
        #expect(SpooledBody.defaultBytesMax == 2 << 30, "as docs/providers.md says")
    }

    /// Goal: an answer without room on this machine is no failure of the remote, and the message
    /// names the directory and the remedy.
    @Test func `an answer that cannot be stored names the directory and the remedy`() throws {
        let short = SpooledBody(ofStatus: 207, refusalBytesMax: 0, folder: "/no such directory")
        let long = SpooledBody(ofStatus: 207, refusalBytesMax: 0, folder: "/no such directory")
        func receive(_ count: Int, into body: SpooledBody) throws {
            try [UInt8](repeating: 1, count: count).withUnsafeBytes {
                try body.receive($0, of: HTTPResponse(status: 207))
            }
        }
        try receive(SpooledBody.memoryBytesMax, into: short)
        let missing = try #require(throws: DiskError.self) {
            try receive(SpooledBody.memoryBytesMax + 1, into: long)
        }
        #expect(missing.kind == .missing)
        #expect(missing.attempt.contains("/no such directory"))
        let full = DiskError(SystemError(ENOSPC), storingIn: "/spool")
        #expect(full.kind == .full)
        let error = ProviderError(
            TransportError(.sink, attempt: "list", reason: "-", cause: full),
            storingAnswerOf: "the server", tooLong: .corrupt)
        #expect(error.kind == .busy && error.cause is DiskError)
        #expect(error.reason.contains("/spool: No space left on device"), "\(error.reason)")
        #expect(error.remedy?.contains("TMPDIR") == true)
    }
}
