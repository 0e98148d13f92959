import Testing

@testable import ProviderSupport

@Suite struct XMLPushParserTests {
    private final class Counter: XMLPushParser.Handler {
        var elements = 0
        var textBytes = 0

        func start(_ name: String, in space: String) throws(XMLError) { elements += 1 }
        func end() throws(XMLError) {}
        func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(XMLError) {
            textBytes += bytes.count
        }
    }

    private func tag(attributes: Int) -> String {
        "<a" + (0..<attributes).map { " x\($0)=\"1\"" }.joined() + "/>"
    }

    /// The parser's time grows with the square of their number.
    @Test func `an element with very many attributes is refused before they are compared`() throws {
        let seen = Counter()
        let document = Array("<r><b/>\(tag(attributes: 30_000))</r>".utf8)
        let error = try #require(throws: XMLError.self) {
            try XMLPushParser(seen).parse(document)
        }
        #expect(error.description == "a tag is longer than 131072 bytes")
        #expect(seen.elements == 2, "what came before it is told")
    }

    @Test(arguments: [1_000, 16 << 10, 1 << 20])
    func `a long document of short tags and a long text are read, whatever they come in`(
        pieceBytes: Int
    ) throws {
        let seen = Counter()
        let tags = String(repeating: tag(attributes: 1_000), count: 30)
        let text = String(repeating: "text ", count: 100_000)
        let document = Array("<r>\(tags)<b>\(text)</b></r>".utf8)
        let parser = try XMLPushParser(seen)
        for start in stride(from: 0, to: document.count, by: pieceBytes) {
            try parser.feed(Array(document[start...].prefix(pieceBytes)))
        }
        try parser.finish()
        #expect(seen.elements == 32)
        #expect(seen.textBytes == 500_000)
    }
}
