import Glibc

/// One component of a path: 1 to 255 bytes without `/` and NUL, neither `.` nor `..`.
///
/// Names are bytes, as in POSIX: two names are equal only if all their bytes are, regardless of
/// Unicode equivalence, and a name need not be UTF-8.
package struct FileName: Hashable, Sendable {
    package let bytes: [UInt8]

    /// POSIX: `NAME_MAX`.
    package static let bytesMax = 255

    /// - Returns: nil if the bytes are not a file name.
    package init?(_ bytes: [UInt8]) {
        guard (1...Self.bytesMax).contains(bytes.count), !bytes.contains(0),
            !bytes.contains(UInt8(ascii: "/")), bytes != [0x2E], bytes != [0x2E, 0x2E]
        else { return nil }
        self.bytes = bytes
    }

    package init?(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// A name that was validated before it was stored.
    init(stored bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension FileName: Comparable {
    package static func < (left: Self, right: Self) -> Bool {
        // As lexicographicallyPrecedes(_:), which compares byte by byte.
        left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                let count = min(left.count, right.count)
                let order =
                    count == 0 ? 0 : memcmp(left.baseAddress!, right.baseAddress!, count)
                return order == 0 ? left.count < right.count : order < 0
            }
        }
    }
}

extension FileName: CustomStringConvertible {
    /// For messages: invalid UTF-8 is shown as replacement characters.
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}
