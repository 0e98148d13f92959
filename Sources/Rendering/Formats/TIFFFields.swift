import Filters

/// Locates the fields of a TIFF structure embedded in other data, such as EXIF or MPF, so that they
/// can be overwritten in place.
struct TIFFFields {
    struct Field {
        let type: Int
        let count: Int
        /// Offset of the four bytes that hold the value or its offset.
        let valueOffset: Int
        /// The value of an integer field with a single value, otherwise its offset from the base.
        let value: Int

        /// Bytes of a single integer value (TIFF 6.0, section 2: SHORT or LONG).
        var valueBytes: Int { type == 3 ? 2 : 4 }
    }

    struct Directory {
        var fields: [Int: Field] = [:]
        /// Offset of the link to the next directory.
        var nextOffset: Int
        /// The next directory's offset from the base, 0 if this directory is the last.
        var next: Int
    }

    let isBigEndian: Bool
    private let reader: ByteReader
    private let base: Int

    /// - Parameter base: Offset of the byte-order mark; the structure counts its offsets from here.
    init(_ bytes: UnsafeRawBufferPointer, base: Int) {
        isBigEndian = ByteReader(bytes: bytes).byte(base) == UInt8(ascii: "M")
        reader = ByteReader(bytes: bytes, isBigEndian: isBigEndian)
        self.base = base
    }

    /// The first directory, or nil if the structure is damaged.
    var first: Directory? {
        reader.integer(base + 4, size: 4).flatMap(directory)
    }

    /// - Parameter offset: Offset from the base.
    func directory(at offset: Int) -> Directory? {
        let start = base + offset
        guard let count = reader.integer(start, size: 2),
            let next = reader.integer(start + 2 + 12 * count, size: 4)
        else { return nil }
        var directory = Directory(nextOffset: start + 2 + 12 * count, next: next)
        for entry in (0..<count).map({ start + 2 + 12 * $0 }) {
            guard let tag = reader.integer(entry, size: 2),
                let type = reader.integer(entry + 2, size: 2),
                let count = reader.integer(entry + 4, size: 4),
                let value = reader.integer(entry + 8, size: type == 3 && count == 1 ? 2 : 4)
            else { return nil }
            directory.fields[tag] = Field(
                type: type, count: count, valueOffset: entry + 8, value: value)
        }
        return directory
    }
}
