private import CCrypto

/// SHA-256 (FIPS 180-4), over bytes in any number of pieces.
package struct SHA256: Sendable {
    private var context = SHA256_CTX()

    package init() {
        SHA256_Init(&context)
    }

    package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&context, bytes.baseAddress, bytes.count)
    }

    package mutating func update(data bytes: [UInt8]) {
        bytes.withUnsafeBytes { update(bufferPointer: $0) }
    }

    /// The digest of the bytes so far, 32 bytes; more may follow.
    package func finalize() -> [UInt8] {
        var copy = context
        return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            SHA256_Final(buffer.baseAddress, &copy)
            count = 32
        }
    }

    package static func hash(data bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: bytes)
        return hash.finalize()
    }

    /// HMAC-SHA-256 (RFC 2104), 32 bytes.
    package static func authenticationCode(for bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            apus_hmac_sha256(key, Int32(key.count), bytes, bytes.count, buffer.baseAddress)
            count = 32
        }
    }
}

/// MD5 (RFC 1321), for protocols that demand it; not for security.
package struct MD5: Sendable {
    private var context = MD5_CTX()

    package init() {
        MD5_Init(&context)
    }

    package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        MD5_Update(&context, bytes.baseAddress, bytes.count)
    }

    /// The digest of the bytes so far, 16 bytes; more may follow.
    package func finalize() -> [UInt8] {
        var copy = context
        return [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            MD5_Final(buffer.baseAddress, &copy)
            count = 16
        }
    }

    /// 16 bytes.
    package static func hash(data bytes: [UInt8]) -> [UInt8] {
        var hash = MD5()
        bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
        return hash.finalize()
    }
}
