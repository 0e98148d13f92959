import Digests

/// Identifies the bytes of one upload: no two uploads of different bytes have the same one, on any
/// mount. It contains nothing secret.
///
/// It is the same for every attempt to upload the same bytes, so that an upload can be resumed.
package struct WriteNonce: Hashable, Sendable, CustomStringConvertible {
    /// 16 hexadecimal digits.
    package let description: String

    /// - Parameter text: 16 hexadecimal digits.
    package init(_ text: String) {
        description = text
    }

    /// - Parameters:
    ///   - salt: Unique to this mount, see ``Engine/identify()``.
    ///   - generation: The ``InodeRecord/generation`` of the bytes, which is stored durably before
    ///     they are sent, so that no other bytes ever get it.
    init(salt: String, inode: InodeNumber, generation: Int64) {
        var hash = SHA256()
        Array("\(salt) \(inode) \(generation)".utf8).withUnsafeBytes {
            hash.update(bufferPointer: $0)
        }
        let number = hash.finalize().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let digits = String(number, radix: 16)
        self.init(String(repeating: "0", count: 16 - digits.count) + digits)
    }
}
