import Foundation
import FoundationXML

/// An element of an answer in XML, with its text and what is in it.
///
/// Answers of S3 are small and flat. Whatever is not, or has a document type with entities of its
/// own, is refused: nothing is looked up elsewhere, nothing grows beyond the answer itself.
struct S3Element: Hashable, Sendable {
    let name: String
    private(set) var text = ""
    private(set) var children: [S3Element] = []

    static let bytesMax = 16 << 20
    private static let depthMax = 12
    private static let elementsMax = 100_000

    /// What is wrong with an answer.
    struct Malformed: Error, Hashable {
        let reason: String
    }

    subscript(name: String) -> S3Element? { children.first { $0.name == name } }

    func all(_ name: String) -> [S3Element] { children.filter { $0.name == name } }

    /// The text of a child; nil where there is none.
    func text(_ name: String) -> String? { self[name]?.text }

    init(parsing bytes: [UInt8]) throws(Malformed) {
        guard bytes.count <= Self.bytesMax else { throw Malformed(reason: "it is too long") }
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw Malformed(reason: "it is no UTF-8")
        }
        guard !Self.declaresTypeOrEncoding(bytes) else {
            throw Malformed(reason: "it has a document type or another encoding")
        }
        let builder = Builder()
        let parser = XMLParser(data: Data(bytes))
        parser.shouldResolveExternalEntities = false
        parser.externalEntityResolvingPolicy = .never
        parser.delegate = builder
        let isParsed = parser.parse()
        if let reason = builder.refusal { throw Malformed(reason: reason) }
        guard isParsed, let root = builder.root else {
            throw Malformed(reason: "it is no XML, or not all of it")
        }
        self = root
    }

    private init(name: String) {
        self.name = name
    }

    /// Looked for in the bytes, before a parser makes anything of them.
    private static func declaresTypeOrEncoding(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        if text.contains("<!DOCTYPE") || text.contains("<!ENTITY") { return true }
        guard text.hasPrefix("<?xml"), let end = text.range(of: "?>"),
            let start = text.range(of: "encoding", range: text.startIndex..<end.lowerBound)
        else { return false }
        return !text[start.upperBound..<end.lowerBound].lowercased().contains("utf-8")
    }

    private final class Builder: NSObject, XMLParserDelegate {
        private var open: [S3Element] = []
        private var count = 0
        private(set) var root: S3Element?
        private(set) var refusal: String?

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
            qualifiedName: String?, attributes: [String: String]
        ) {
            count += 1
            guard count <= elementsMax else { return refuse(parser, "it has too many elements") }
            guard open.count < depthMax else { return refuse(parser, "it is nested too deeply") }
            open.append(S3Element(name: String(name.split(separator: ":").last ?? "")))
        }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
            qualifiedName: String?
        ) {
            guard let element = open.popLast() else { return }
            if open.isEmpty {
                root = element
            } else {
                open[open.count - 1].children.append(element)
            }
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) {
            if !open.isEmpty { open[open.count - 1].text += text }
        }

        func parser(_ parser: XMLParser, foundCDATA block: Data) {
            if !open.isEmpty { open[open.count - 1].text += String(decoding: block, as: UTF8.self) }
        }

        private func refuse(_ parser: XMLParser, _ reason: String) {
            if refusal == nil { refusal = reason }
            parser.abortParsing()
        }
    }
}
