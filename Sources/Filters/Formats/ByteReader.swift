/// Reads integers from bytes that may be damaged: what lies outside is nil.
struct ByteReader {
    let bytes: UnsafeRawBufferPointer
    var isBigEndian = true

    var count: Int { bytes.count }

    func byte(_ offset: Int) -> UInt8? {
        bytes.indices.contains(offset) ? bytes[offset] : nil
    }

    /// An unsigned integer of `size` bytes, 0 to 8.
    func integer(_ offset: Int, size: Int) -> Int? {
        guard offset >= 0, size <= count, offset <= count - size else { return nil }
        var value: UInt64 = 0
        for index in 0..<size {
            let byte = bytes[offset + (isBigEndian ? index : size - 1 - index)]
            value = value << 8 | UInt64(byte)
        }
        return Int(exactly: value)
    }

    func slice(_ offset: Int, count size: Int) -> [UInt8]? {
        guard offset >= 0, size >= 0, size <= count, offset <= count - size else { return nil }
        return Array(bytes[offset..<offset + size])
    }

    func text(_ offset: Int, count: Int) -> String? {
        slice(offset, count: count).map { String(decoding: $0, as: UTF8.self) }
    }

    func starts(with prefix: some Collection<UInt8>, at offset: Int) -> Bool {
        slice(offset, count: prefix.count).map { $0.elementsEqual(prefix) } ?? false
    }
}

extension [UInt8] {
    mutating func append(integer value: Int, size: Int, isBigEndian: Bool = true) {
        for index in 0..<size {
            let shift = 8 * (isBigEndian ? size - 1 - index : index)
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Overwrites an integer of `size` bytes at `offset`, which must lie inside.
    mutating func set(integer value: Int, at offset: Int, size: Int, isBigEndian: Bool = true) {
        for index in 0..<size {
            let shift = 8 * (isBigEndian ? size - 1 - index : index)
            self[offset + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }
}
