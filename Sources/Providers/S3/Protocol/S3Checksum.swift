import Digests
import Engine
import Foundation
import SystemCalls
import Transport

/// A running checksum of a whole object, as in S3's headers.
enum S3Checksum: Sendable {
    case sha256(SHA256)
    case md5(MD5)
    case crc(S3CRC)

    /// The checksum sent with each upload.
    static let header = "x-amz-checksum-sha256"

    /// Starts the checksum that a store keeps of an object, and returns the expected result.
    ///
    /// - Returns: nil if the store keeps none, or only one of parts, or does not say which it is.
    static func kept(
        of headers: HTTPHeaders, etag: ETag
    ) -> (sum: S3Checksum, expected: String)? {
        switch headers["x-amz-checksum-type"] {
        case "FULL_OBJECT": break
        case nil where !S3ETag.isOfParts(etag): break
        default: return nil
        }
        let known: [(name: String, sum: S3Checksum)] = [
            (header, .sha256(SHA256())), ("x-amz-checksum-crc64nvme", .crc(.crc64NVME)),
            ("x-amz-checksum-crc32c", .crc(.crc32C)), ("x-amz-checksum-crc32", .crc(.crc32)),
        ]
        for (name, sum) in known {
            if let text = headers[name], !text.contains("-") { return (sum, text) }
        }
        return nil
    }

    /// As ``kept(of:etag:)``; otherwise the ETag, which is the MD5 of an object that was not made in
    /// parts, unless it is encrypted with a key of its own.
    static func whole(
        of headers: HTTPHeaders, etag: ETag
    ) -> (sum: S3Checksum, expected: String)? {
        if let kept = kept(of: headers, etag: etag) { return kept }
        let text = etag.description
        guard text.utf8.count == 32, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
            ["AES256", nil].contains(headers["x-amz-server-side-encryption"]),
            headers["x-amz-server-side-encryption-customer-algorithm"] == nil
        else { return nil }
        return (.md5(MD5()), text)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .md5(var hash):
            hash.update(bufferPointer: bytes)
            self = .md5(hash)
        case .sha256(var hash):
            hash.update(bufferPointer: bytes)
            self = .sha256(hash)
        case .crc(var crc):
            crc.update(bytes)
            self = .crc(crc)
        }
    }

    var text: String {
        switch self {
        case .sha256(let hash): Self.text(hash.finalize())
        case .md5(let hash): Hexadecimal.encode(hash.finalize())
        case .crc(let crc): Data(crc.bytes).base64EncodedString()
        }
    }

    static func text(_ digest: [UInt8]) -> String { Data(digest).base64EncodedString() }
}

/// A checksum and the value that the store keeps.
struct S3KeptChecksum: ContentChecksum {
    var sum: S3Checksum
    let kept: String

    mutating func update(_ bytes: UnsafeRawBufferPointer) { sum.update(bytes) }

    var value: [UInt8] { Array(sum.text.utf8) }
    var expected: [UInt8] { Array(kept.utf8) }

    /// An ETag is the MD5 of the bytes in some stores; in others it only looks so.
    var isDeclared: Bool {
        if case .md5 = sum { false } else { true }
    }
}

/// A cyclic redundancy check with the lowest bit first, of 32 or 64 bits, with all bits set at the
/// start and inverted at the end.
struct S3CRC: Sendable {
    private let tables: [UInt64]
    private let width: Int
    private var register: UInt64

    /// RFC 1952.
    static let crc32 = S3CRC(0xEDB8_8320, width: 32)
    /// RFC 3720: Castagnoli.
    static let crc32C = S3CRC(0x82F6_3B78, width: 32)
    /// The NVM Express specification.
    static let crc64NVME = S3CRC(0x9A6C_9329_AC4B_C9B5, width: 64)

    /// - Parameter polynomial: With its lowest power in the highest bit.
    private init(_ polynomial: UInt64, width: Int) {
        var tables = [UInt64](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var value = UInt64(byte)
            for _ in 0..<8 { value = value >> 1 ^ (value & 1 == 1 ? polynomial : 0) }
            tables[byte] = value
        }
        // Table n serves a byte that n others follow.
        for entry in 256..<tables.count {
            let before = tables[entry - 256]
            tables[entry] = before >> 8 ^ tables[Int(before & 0xFF)]
        }
        self.tables = tables
        self.width = width
        register = width == 64 ? .max : 1 << UInt64(width) - 1
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        register = tables.withUnsafeBufferPointer { tables in
            var value = register
            let whole = bytes.count & ~7
            // Eight bytes at a time: this runs on the thread that all transfers share.
            for offset in stride(from: 0, to: whole, by: 8) {
                let word = UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                let mixed = word ^ value
                value = 0
                for index in 0..<8 {
                    value ^= tables[(7 - index) << 8 | Int(mixed >> UInt64(index << 3) & 0xFF)]
                }
            }
            for byte in bytes[whole...] {
                value = value >> 8 ^ tables[Int((value ^ UInt64(byte)) & 0xFF)]
            }
            return value
        }
    }

    /// The result, its highest byte first.
    var bytes: [UInt8] {
        (0..<width / 8).reversed().map { UInt8(truncatingIfNeeded: ~register >> UInt64($0 * 8)) }
    }
}
