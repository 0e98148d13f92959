/// Reads values from data that may be damaged: reading outside of it returns nil.
package struct ByteReader {
    package let bytes: UnsafeRawBufferPointer
    package var isBigEndian: Bool

    /// Larger values can only be damage, and sums of a few offsets up to this cannot overflow.
    package static let integerMax = 1 << 56

    package init(bytes: UnsafeRawBufferPointer, isBigEndian: Bool = true) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
    }

    package var count: Int { bytes.count }

    package func byte(_ offset: Int) -> UInt8? {
        bytes.indices.contains(offset) ? bytes[offset] : nil
    }

    /// Returns an unsigned integer of `size` bytes, 0 to 8; nil also if it exceeds ``integerMax``.
    package func integer(_ offset: Int, size: Int) -> Int? {
        guard offset >= 0, size <= count, offset <= count - size else { return nil }
        var value: UInt64 = 0
        for index in 0..<size {
            let byte = bytes[offset + (isBigEndian ? index : size - 1 - index)]
            value = value << 8 | UInt64(byte)
        }
        return value <= Self.integerMax ? Int(value) : nil
    }

    package func slice(_ offset: Int, count size: Int) -> [UInt8]? {
        guard offset >= 0, size >= 0, size <= count, offset <= count - size else { return nil }
        return Array(bytes[offset..<offset + size])
    }

    package func text(_ offset: Int, count: Int) -> String? {
        slice(offset, count: count).map { String(decoding: $0, as: UTF8.self) }
    }

    package func starts(with prefix: some Collection<UInt8>, at offset: Int) -> Bool {
        slice(offset, count: prefix.count).map { $0.elementsEqual(prefix) } ?? false
    }
}

extension [UInt8] {
    /// Calls `withUnsafeBytes`, but keeps the type of errors.
    package func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Value
    ) throws(ImageError) -> Value {
        try withUnsafeBufferPointer { (buffer) throws(ImageError) in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }

    package mutating func append(integer value: Int, size: Int, isBigEndian: Bool = true) {
        for index in 0..<size {
            let shift = 8 * (isBigEndian ? size - 1 - index : index)
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Overwrites an integer of `size` bytes at `offset`, which must be inside the array.
    package mutating func set(
        integer value: Int, at offset: Int, size: Int, isBigEndian: Bool = true
    ) {
        for index in 0..<size {
            let shift = 8 * (isBigEndian ? size - 1 - index : index)
            self[offset + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }
}
