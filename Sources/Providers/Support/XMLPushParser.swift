import CXML

/// Parses XML as it arrives, in memory that does not grow with the document.
///
/// Elements are reported with their namespace URI, text in pieces. A document type is refused, and
/// with it all entities except XML's own. Only one thread may use it at a time.
package final class XMLPushParser {
    /// Receives the contents of the document in order. An error of a handler ends the parsing.
    package protocol Handler: AnyObject {
        func start(_ name: String, in space: String) throws(XMLError)
        func end() throws(XMLError)
        func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(XMLError)
    }

    /// Limit of the bytes without any event. A longer start tag has so many attributes that the
    /// parser, which compares each with all others, would take too long.
    static let silentBytesMax = 128 << 10
    /// Size of the pieces for the parser: small, so that it never buffers much more than that.
    private static let pieceBytes = 16 << 10

    private let parser: UnsafeMutablePointer<apus_xml>
    private let bridge: Bridge
    private var silentBytes = 0

    package init(_ handler: any Handler) throws(XMLError) {
        bridge = Bridge(handler)
        let events = apus_xml_events(
            start: { context, name, space in
                Bridge.of(context).relay { handler throws(XMLError) in
                    try handler.start(
                        name.map { String(cString: $0) } ?? "",
                        in: space.map { String(cString: $0) } ?? "")
                }
            },
            end: { context in
                Bridge.of(context).relay { handler throws(XMLError) in try handler.end() }
            },
            text: { context, bytes, count in
                guard let bytes, count > 0 else { return }
                bytes.withMemoryRebound(to: UInt8.self, capacity: Int(count)) { bytes in
                    let text = UnsafeBufferPointer(start: bytes, count: Int(count))
                    Bridge.of(context).relay { handler throws(XMLError) in
                        try handler.text(text)
                    }
                }
            },
            doctype: { context in
                Bridge.of(context).relay { _ throws(XMLError) in
                    throw XMLError("document types are refused")
                }
            })
        guard
            let parser = apus_xml_open(events, Unmanaged.passUnretained(bridge).toOpaque())
        else { throw XMLError("out of memory") }
        self.parser = parser
        bridge.parser = parser
    }

    deinit {
        apus_xml_close(parser)
    }

    /// Parses the next bytes of the document.
    package func feed(_ bytes: [UInt8]) throws(XMLError) {
        for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
            let piece = bytes[start..<min(start + Self.pieceBytes, bytes.count)]
            // Checked before the parser sees the end of a tag and begins to compare.
            guard silentBytes + piece.count <= Self.silentBytesMax else {
                throw XMLError("a tag is longer than \(Self.silentBytesMax) bytes")
            }
            let events = bridge.events
            let code = piece.withUnsafeBytes { piece in
                apus_xml_feed(
                    parser, piece.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(piece.count), 0)
            }
            try check(code)
            silentBytes = bridge.events == events ? silentBytes + piece.count : 0
        }
    }

    /// Parses a whole document.
    package func parse(_ document: [UInt8]) throws(XMLError) {
        try feed(document)
        try finish()
    }

    /// Must be called after the last byte: only then is the document known to be complete.
    package func finish() throws(XMLError) {
        try check(apus_xml_feed(parser, nil, 0, 1))
    }

    private func check(_ code: Int32) throws(XMLError) {
        if let failure = bridge.failure { throw failure }
        if code != 0 { throw XMLError("not well-formed XML (libxml2 error \(code))") }
    }
}

/// The context of the C callbacks.
private final class Bridge {
    private unowned let handler: any XMLPushParser.Handler
    var parser: UnsafeMutablePointer<apus_xml>?
    var failure: XMLError?
    private(set) var events = 0

    init(_ handler: any XMLPushParser.Handler) {
        self.handler = handler
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> Bridge {
        guard let context else { preconditionFailure("an event has no context") }
        return Unmanaged<Bridge>.fromOpaque(context).takeUnretainedValue()
    }

    func relay(_ event: (any XMLPushParser.Handler) throws(XMLError) -> Void) {
        guard failure == nil else { return }
        events += 1
        do {
            try event(handler)
        } catch {
            failure = error
            if let parser { apus_xml_stop(parser) }
        }
    }
}

/// The reason why a document cannot be used.
package struct XMLError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
