import Testing
import Transport

@Suite struct ResponseTests {
    @Test(arguments: [
        ("120", Duration.seconds(120) as Duration?), ("0", .zero), ("-5", nil), ("soon", nil),
        ("", nil),
        ("Fri, 31 Dec 1999 23:59:59 GMT", .seconds(59)),
        ("Friday, 31-Dec-99 23:59:59 GMT", .seconds(59)),
        ("Fri Dec 31 23:59:59 1999", .seconds(59)),
        ("Fri, 31 Dec 1999 23:00:00 GMT", .zero),
        ("99999999999999999999", nil),
        ("9223372036854775807", .seconds(3_600)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(3_600)),
    ])
    func `Retry-After is a number of seconds or a date, an hour at most`(
        text: String, expected: Duration?
    ) {
        let response = HTTPResponse(
            status: 503, headers: HTTPHeaders([(name: "Retry-After", value: text)]))
        #expect(response.retryAfter(now: 946_684_740) == expected)
        #expect(HTTPResponse(status: 503).retryAfter(now: 0) == nil)
    }

    @Test func `headers are found in any case, all of them`() {
        let headers = HTTPHeaders([
            (name: "ETag", value: "\"a\""), (name: "Link", value: "1"), (name: "LINK", value: "2"),
        ])
        #expect(headers["etag"] == "\"a\"")
        #expect(headers["ETAG"] == "\"a\"")
        #expect(headers.all("link") == ["1", "2"])
        #expect(headers["date"] == nil)
        #expect(headers.map(\.name) == ["etag", "link", "link"])
    }
}
