/// A path as the file system has it: bytes, which need not be UTF-8.
package struct RawPath: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// For people: bytes that are no UTF-8 show as replacement characters.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    /// What follows the last `/`.
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

    /// Whether it is `directory`, or lies below.
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
