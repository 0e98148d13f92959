extension JPEGFile {
    /// The index of pictures that follow the main one (CIPA DC-007: previews, gain maps), which
    /// names them by offset and so has to move with them.
    struct Multipicture {
        /// Where the segment is in the old and in the new file.
        let oldOffset: Int
        let newOffset: Int

        /// Marker, length and `MPF\0`; offsets count from what follows.
        private static let headerBytes = 8
        private static let entriesTag = 0xB002
        private static let entryBytes = 16

        /// Corrects the index. One that makes no sense stays as it is.
        ///
        /// - Parameters:
        ///   - oldEnd: Where the main picture ended.
        ///   - newEnd: Where it ends now.
        func update(_ file: inout [UInt8], oldEnd: Int, newEnd: Int) {
            let base = newOffset + Self.headerBytes
            let oldBase = oldOffset + Self.headerBytes
            guard let (entries, count, isBigEndian) = Self.entries(in: file, base: base) else {
                return
            }
            for index in 0..<count {
                let entry = entries + index * Self.entryBytes
                guard entry + Self.entryBytes <= file.count else { return }
                let offset = file.withUnsafeBytes {
                    ByteReader(bytes: $0, isBigEndian: isBigEndian).integer(entry + 8, size: 4)
                }
                if offset == 0 {
                    file.set(integer: newEnd, at: entry + 4, size: 4, isBigEndian: isBigEndian)
                } else if let offset, offset + oldBase >= oldEnd {
                    let moved = offset + oldBase - oldEnd + newEnd - base
                    file.set(integer: moved, at: entry + 8, size: 4, isBigEndian: isBigEndian)
                }
            }
        }

        private static func entries(
            in file: [UInt8], base: Int
        ) -> (offset: Int, count: Int, isBigEndian: Bool)? {
            file.withUnsafeBytes { raw in
                var reader = ByteReader(bytes: raw)
                reader.isBigEndian = reader.byte(base) == UInt8(ascii: "M")
                guard let directory = reader.integer(base + 4, size: 4),
                    let tagCount = reader.integer(base + directory, size: 2)
                else { return nil }
                for index in 0..<tagCount {
                    let tag = base + directory + 2 + 12 * index
                    guard reader.integer(tag, size: 2) == entriesTag,
                        let bytes = reader.integer(tag + 4, size: 4),
                        let offset = reader.integer(tag + 8, size: 4)
                    else { continue }
                    return (base + offset, bytes / entryBytes, reader.isBigEndian)
                }
                return nil
            }
        }
    }
}
