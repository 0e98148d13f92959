import Engine
import Testing

@testable import ProviderSupport
@testable import ProviderWebDAV

@Suite struct MultistatusParserTests {
    private static let document = """
        <?xml version="1.0" encoding="utf-8"?>
        <D:multistatus xmlns:D="DAV:" xmlns:ns1="urn:apus:webdav">
        <D:response xmlns:lp1="DAV:"><D:href>/dav/</D:href>
        <D:propstat><D:prop><lp1:resourcetype><D:collection/></lp1:resourcetype></D:prop>
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat>
        <D:propstat><D:prop><lp1:getetag>"no"</lp1:getetag></D:prop>
        <D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>
        <response xmlns="DAV:"><href> /dav/a%20&amp;&#98; </href><propstat><prop>
        <getetag><![CDATA["5-6"]]></getetag><getcontentlength>5</getcontentlength><resourcetype/>
        <getlastmodified>Sat, 21 Nov 2026 08:09:57 GMT</getlastmodified>
        <ns1:attributes>mode=644</ns1:attributes><other xmlns="urn:x"><href>/no</href></other>
        <lockdiscovery><activelock><locktoken><href>opaquelocktoken:1</href></locktoken>
        <lockroot><href>/no</href></lockroot></activelock></lockdiscovery>
        </prop><status>HTTP/1.1 200 OK</status></propstat></response>
        <D:response><D:href>/dav/gone</D:href><D:status>HTTP/1.1 404 Not Found</D:status></D:response>
        </D:multistatus>
        """

    /// Parses a document that arrives in pieces.
    private func parse(
        _ document: [UInt8], pieceBytes: Int = .max, responsesMax: Int = 1_000
    ) throws -> [WebDAVEntry] {
        let parser = try MultistatusParser(responsesMax: responsesMax)
        var rest = document[...]
        while !rest.isEmpty {
            try parser.feed(Array(rest.prefix(pieceBytes)))
            rest = rest.dropFirst(pieceBytes)
        }
        try parser.finish()
        return Array(parser.entries)
    }

    private func parse(_ document: String, responsesMax: Int = 1_000) throws -> [WebDAVEntry] {
        try parse(Array(document.utf8), responsesMax: responsesMax)
    }

    @Test(arguments: [1, 7, 4_096])
    func `what the server found is told, whatever pieces it comes in`(pieceBytes: Int) throws {
        let entries = try parse(Array(Self.document.utf8), pieceBytes: pieceBytes)
        try #require(entries.count == 3)
        #expect(entries[0].href == "/dav/")
        #expect(entries[0].isCollection)
        #expect(entries[0].etag == nil)
        #expect(entries[1].href == "/dav/a%20&b")
        #expect(!entries[1].isCollection)
        #expect(entries[1].etag == "\"5-6\"")
        #expect(entries[1].size == 5)
        #expect(entries[1].modified?.seconds == 1_795_248_597)
        #expect(entries[1].attributes == "mode=644")
        #expect(entries[1].lockTokens == ["opaquelocktoken:1"])
        #expect(entries[2].status == 404)
    }

    @Test func `a document that is cut short is no document`() throws {
        let whole = Array(Self.document.utf8)
        for count in stride(from: 0, to: whole.count, by: 13) {
            #expect(throws: XMLError.self) { try parse(Array(whole.prefix(count))) }
        }
    }

    @Test(arguments: [
        "<html><body>Welcome</body></html>",
        "<multistatus/>",
        "not XML",
        "{\"json\": true}",
        "<D:multistatus xmlns:D=\"DAV:\"/><more/>",
        "<D:multistatus xmlns:D=\"DAV:\">&unknown;</D:multistatus>",
    ])
    func `what is no multistatus is refused`(document: String) {
        #expect(throws: XMLError.self) { try parse(document) }
    }

    @Test func `entities are not expanded, and document types refused`() {
        let bomb = """
            <?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">
            <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
            <D:multistatus xmlns:D="DAV:"><D:response><D:href>&c;</D:href></D:response>
            </D:multistatus>
            """
        let outside = """
            <?xml version="1.0"?><!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]>
            <D:multistatus xmlns:D="DAV:"><D:response><D:href>&a;</D:href></D:response>
            </D:multistatus>
            """
        for document in [bomb, outside] {
            let error = #expect(throws: XMLError.self) { try parse(document) }
            #expect(error?.description.contains("document type") == true)
        }
    }

    @Test func `what has no end is ended`() {
        let response = "<response><href>/a</href></response>"
        let many = String(repeating: response, count: 11)
        let document = "<multistatus xmlns=\"DAV:\">\(many)</multistatus>"
        #expect(throws: XMLError.self) { try parse(document, responsesMax: 10) }
        #expect(throws: Never.self) { try parse(document, responsesMax: 11) }

        let long = String(repeating: "a", count: MultistatusParser.valueBytesMax + 1)
        #expect(throws: XMLError.self) {
            try parse("<multistatus xmlns=\"DAV:\"><response><href>\(long)")
        }
        let deep = String(repeating: "<a>", count: 100)
        #expect(throws: XMLError.self) { try parse("<multistatus xmlns=\"DAV:\">\(deep)") }
    }

    @Test(
        arguments: [
            ("-1", nil), ("", nil), ("1e9", nil), ("18446744073709551616", nil), ("+5", nil),
            ("9223372036854775808", nil), ("9223372036854775807", 9_223_372_036_854_775_807),
            ("0", 0),
        ] as [(String, UInt64?)])
    func `a length is a number of bytes, or none`(text: String, size: UInt64?) {
        #expect(WebDAVEntry(length: text).size == size)
    }
}
