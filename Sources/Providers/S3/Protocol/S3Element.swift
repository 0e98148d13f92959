import ProviderSupport

/// An element of an answer in XML, with its text and children.
///
/// Answers of S3 are small and flat. Other documents, and those with a document type and entities of
/// their own, are refused: no external resource is loaded, and nothing grows beyond the answer.
struct S3Element: Hashable, Sendable {
    let name: String
    private(set) var text = ""
    private(set) var children: [S3Element] = []

    static let bytesMax = 16 << 20
    private static let depthMax = 12
    private static let elementsMax = 100_000

    subscript(name: String) -> S3Element? { children.first { $0.name == name } }

    func all(_ name: String) -> [S3Element] { children.filter { $0.name == name } }

    /// The text of a child; nil if there is none.
    func text(_ name: String) -> String? { self[name]?.text }

    init(parsing bytes: [UInt8]) throws(XMLError) {
        guard bytes.count <= Self.bytesMax else { throw XMLError("it is too long") }
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw XMLError("it is not UTF-8")
        }
        guard !Self.declaresOtherEncoding(bytes) else {
            throw XMLError("it has another encoding")
        }
        let builder = Builder()
        try XMLPushParser(builder).parse(bytes)
        guard let root = builder.root else { throw XMLError("it is not XML") }
        self = root
    }

    private init(name: String) {
        self.name = name
    }

    /// Checks the bytes before a parser interprets them.
    private static func declaresOtherEncoding(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes.prefix(1_024), as: UTF8.self)
        guard text.hasPrefix("<?xml"), let end = text.firstRange(of: "?>"),
            let start = text[..<end.lowerBound].firstRange(of: "encoding")
        else { return false }
        return !text[start.upperBound..<end.lowerBound].lowercased().contains("utf-8")
    }

    private final class Builder: XMLPushParser.Handler {
        private var open: [(element: S3Element, text: [UInt8])] = []
        private var count = 0
        private(set) var root: S3Element?

        func start(_ name: String, in space: String) throws(XMLError) {
            count += 1
            guard count <= elementsMax else { throw XMLError("it has too many elements") }
            guard open.count < depthMax else { throw XMLError("it is nested too deeply") }
            open.append((S3Element(name: name), []))
        }

        func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(XMLError) {
            if !open.isEmpty { open[open.count - 1].text += bytes }
        }

        func end() throws(XMLError) {
            guard let (opened, bytes) = open.popLast() else { return }
            var element = opened
            element.text = String(decoding: bytes, as: UTF8.self)
            if open.isEmpty {
                root = element
            } else {
                open[open.count - 1].element.children.append(element)
            }
        }
    }
}
