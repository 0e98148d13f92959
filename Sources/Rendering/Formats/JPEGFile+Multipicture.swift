import Filters

extension JPEGFile {
    /// The index of the pictures after the main one, such as previews and gain maps (CIPA DC-007).
    ///
    /// It refers to them by offset, and so must be updated if they move.
    struct Multipicture {
        /// Offset of the segment in the old file and in the new one.
        let oldOffset: Int
        let newOffset: Int

        /// Marker, length and `MPF\0`; the index counts its offsets from the next byte.
        private static let headerBytes = 8
        private static let entriesTag = 0xB002
        private static let entryBytes = 16

        /// Updates the index; a damaged one stays unchanged.
        ///
        /// - Parameters:
        ///   - oldEnd: End of the main picture in the old file.
        ///   - newEnd: End of the main picture in the new file.
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
                let fields = TIFFFields(raw, base: base)
                return fields.first?.fields[entriesTag].map {
                    (base + $0.value, $0.count / entryBytes, fields.isBigEndian)
                }
            }
        }
    }
}
