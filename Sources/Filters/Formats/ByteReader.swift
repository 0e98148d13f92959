/// Reads values from data that may be damaged: reading outside of it returns nil.
struct ByteReader {
    let bytes: UnsafeRawBufferPointer
    var isBigEndian = true

    /// Larger values can only be damage, and sums of a few offsets up to this cannot overflow.
    static let integerMax = 1 << 56

    var count: Int { bytes.count }

    func byte(_ offset: Int) -> UInt8? {
        bytes.indices.contains(offset) ? bytes[offset] : nil
    }

    /// Returns an unsigned integer of `size` bytes, 0 to 8; nil also if it exceeds ``integerMax``.
    func integer(_ offset: Int, size: Int) -> Int? {
        guard offset >= 0, size <= count, offset <= count - size else { return nil }
        var value: UInt64 = 0
        for index in 0..<size {
            let byte = bytes[offset + (isBigEndian ? index : size - 1 - index)]
            value = value << 8 | UInt64(byte)
        }
        return value <= Self.integerMax ? Int(value) : nil
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
    /// Calls `withUnsafeBytes`, but keeps the type of errors.
    func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Value
    ) throws(ImageError) -> Value {
        try withUnsafeBufferPointer { (buffer) throws(ImageError) in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }

    mutating func append(integer value: Int, size: Int, isBigEndian: Bool = true) {
        for index in 0..<size {
            let shift = 8 * (isBigEndian ? size - 1 - index : index)
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Overwrites an integer of `size` bytes at `offset`, which must be inside the array.
    mutating func set(integer value: Int, at offset: Int, size: Int, isBigEndian: Bool = true) {
        for index in 0..<size {
            let shift = 8 * (isBigEndian ? size - 1 - index : index)
            self[offset + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }
}
