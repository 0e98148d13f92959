import Filters

/// An image file directory of a TIFF file (TIFF 6.0, section 2), with its subdirectories.
struct TIFFDirectory {
    struct Entry {
        var tag: Int
        var type: Int
        var count: Int
        /// The values, in the byte order of the file they were read from.
        var value: [UInt8]
    }

    var entries: [Entry] = []
    /// EXIF, GPS and interoperability directories, by the tag that refers to them.
    var children: [Int: TIFFDirectory] = [:]
    var isBigEndian: Bool

    /// Bytes of a value, by the number of its type.
    private static let typeBytes = [
        1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4,
    ]
    private static let entriesMax = 4096
    private static let depthMax = 4

    /// - Returns: The directory and the next one's offset, 0 for none; nil if it is damaged.
    static func read(
        from reader: ByteReader, at offset: Int, depth: Int = 0
    ) -> (directory: TIFFDirectory, next: Int)? {
        guard depth < depthMax, let entryCount = reader.integer(offset, size: 2),
            entryCount <= entriesMax
        else { return nil }
        var directory = TIFFDirectory(isBigEndian: reader.isBigEndian)
        for index in 0..<entryCount {
            guard let entry = readEntry(from: reader, at: offset + 2 + 12 * index) else {
                return nil
            }
            guard let entry = entry.known else { continue }
            if Tag.directories.contains(entry.tag) {
                guard let target = directory.integers(of: entry).first,
                    let child = read(from: reader, at: target, depth: depth + 1)
                else { return nil }
                directory.children[entry.tag] = child.directory
            } else {
                directory.entries.append(entry)
            }
        }
        guard let next = reader.integer(offset + 2 + 12 * entryCount, size: 4) else { return nil }
        return (directory, next)
    }

    /// - Returns: nil if the entry exceeds the file; a nil entry if its type is unknown.
    private static func readEntry(
        from reader: ByteReader, at offset: Int
    ) -> (known: Entry?, Void)? {
        guard let tag = reader.integer(offset, size: 2),
            let type = reader.integer(offset + 2, size: 2),
            let count = reader.integer(offset + 4, size: 4)
        else { return nil }
        guard let size = typeBytes[type] else { return (nil, ()) }
        let byteCount = size * count
        let start = byteCount <= 4 ? offset + 8 : reader.integer(offset + 8, size: 4) ?? -1
        guard let value = reader.slice(start, count: byteCount) else { return nil }
        return (Entry(tag: tag, type: type, count: count, value: value), ())
    }

    func entry(_ tag: Int) -> Entry? { entries.first { $0.tag == tag } }

    /// The values of an integer field; empty if it is missing.
    func integers(_ tag: Int) -> [Int] { entry(tag).map(integers) ?? [] }

    func integers(of entry: Entry) -> [Int] {
        guard let size = Self.typeBytes[entry.type], size <= 4 else { return [] }
        return entry.value.withUnsafeBytes { raw in
            let reader = ByteReader(bytes: raw, isBigEndian: isBigEndian)
            return (0..<entry.count).compactMap { reader.integer($0 * size, size: size) }
        }
    }

    /// Returns the directory in the other byte order.
    func swapped() -> TIFFDirectory {
        var result = self
        result.isBigEndian.toggle()
        result.entries = entries.map { entry in
            var entry = entry
            entry.value = Self.swap(entry.value, type: entry.type)
            return entry
        }
        result.children = children.mapValues { $0.swapped() }
        return result
    }

    private static func swap(_ value: [UInt8], type: Int) -> [UInt8] {
        // A rational consists of two integers of four bytes each.
        let unit = type == 5 || type == 10 ? 4 : typeBytes[type] ?? 1
        guard unit > 1 else { return value }
        var result: [UInt8] = []
        result.reserveCapacity(value.count)
        for start in stride(from: 0, to: value.count, by: unit) {
            result += value[start..<start + unit].reversed()
        }
        return result
    }

    /// Appends the directory with its values and children to `file`.
    ///
    /// - Returns: Offsets of the directory and of its link to the next one.
    func append(to file: inout [UInt8]) -> (offset: Int, nextField: Int) {
        var all = entries
        for (tag, child) in children {
            let offset = child.append(to: &file).offset
            var value: [UInt8] = []
            value.append(integer: offset, size: 4, isBigEndian: isBigEndian)
            all.append(Entry(tag: tag, type: 4, count: 1, value: value))
        }
        all.sort { $0.tag < $1.tag }
        var table: [UInt8] = []
        table.append(integer: all.count, size: 2, isBigEndian: isBigEndian)
        for entry in all {
            table.append(integer: entry.tag, size: 2, isBigEndian: isBigEndian)
            table.append(integer: entry.type, size: 2, isBigEndian: isBigEndian)
            table.append(integer: entry.count, size: 4, isBigEndian: isBigEndian)
            if entry.value.count <= 4 {
                table += entry.value + [UInt8](repeating: 0, count: 4 - entry.value.count)
            } else {
                if !file.count.isMultiple(of: 2) { file.append(0) }
                table.append(integer: file.count, size: 4, isBigEndian: isBigEndian)
                file += entry.value
            }
        }
        if !file.count.isMultiple(of: 2) { file.append(0) }
        let offset = file.count
        file += table
        let nextField = file.count
        file.append(integer: 0, size: 4, isBigEndian: isBigEndian)
        return (offset, nextField)
    }

    enum Tag {
        static let bitsPerSample = 258
        static let compression = 259
        static let photometric = 262
        static let orientation = 274
        static let predictor = 317
        static let tileWidth = 322
        static let tileLength = 323
        static let subDirectories = 330
        static let extraSamples = 338
        static let jpegTables = 347
        static let profile = 34675
        static let rawVersion = 50706
        static let exif = 34665
        static let gps = 34853
        static let interoperability = 40965

        static let directories: Set<Int> = [exif, gps, interoperability]

        /// Tags that describe the storage of pixels: taken from the new file, all others from the
        /// original.
        static let ofThePicture: Set<Int> = [
            256, 257, 258, 259, 262, 263, 264, 265, 266, 273, 277, 278, 279, 280, 281, 284, 288,
            289, 290, 291, 292, 293, 301, 317, 320, 321, 322, 323, 324, 325, 332, 333, 334, 336,
            337, 338, 339, 340, 341, 342, 347, 512, 513, 514, 515, 517, 518, 519, 520, 521, 529,
            530, 531, 532,
        ]
    }
}
