/// A path as the file system stores it: bytes that need not be UTF-8.
package struct RawPath: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// For messages: invalid UTF-8 becomes replacement characters.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    /// The last component.
    var name: [UInt8] {
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return bytes }
        return Array(bytes[(slash + 1)...])
    }

    func appending(_ name: [UInt8]) -> RawPath {
        let separator: [UInt8] = bytes.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]
        return RawPath(bytes: bytes + separator + name)
    }

    /// The path of another name in the same directory.
    func sibling(_ name: [UInt8]) -> RawPath {
        RawPath(bytes: Array(bytes.dropLast(self.name.count)) + name)
    }

    /// Whether the path is `directory` or lies below it.
    func isWithin(_ directory: RawPath) -> Bool {
        bytes.starts(with: directory.bytes)
            && (bytes.count == directory.bytes.count
                || directory.bytes.last == UInt8(ascii: "/")
                || bytes[directory.bytes.count] == UInt8(ascii: "/"))
    }

    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        (bytes + [0]).withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
        }
    }
}
