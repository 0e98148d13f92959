/// The bytes of a simulated file, in pages; a page never written uses no space.
struct SimulatedBytes: Hashable, Sendable {
    static let pageBytes = 4_096
    /// The maximum size of a file: ext4's limit with pages of this size.
    static let sizeMax: UInt64 = 16 << 40

    private(set) var size: UInt64 = 0
    private var pages: [UInt64: [UInt8]] = [:]

    var allocatedBytes: UInt64 { UInt64(pages.count) * UInt64(Self.pageBytes) }

    /// - Returns: The bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(buffer.count), size - offset))
        for piece in Self.pieces(of: count, at: offset) {
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[piece.bytes])
            if let page = pages[piece.page] {
                target.copyBytes(from: page[piece.inPage])
            } else {
                target.initializeMemory(as: UInt8.self, repeating: 0)
            }
        }
        return count
    }

    /// Returns how many of `count` bytes at `offset` can be written in `roomBytes` of new space.
    func writableCount(_ count: Int, at offset: UInt64, roomBytes: UInt64) -> Int {
        var pagesLeft = roomBytes / UInt64(Self.pageBytes)
        for piece in Self.pieces(of: count, at: offset) where pages[piece.page] == nil {
            if pagesLeft == 0 { return piece.bytes.lowerBound }
            pagesLeft -= 1
        }
        return count
    }

    mutating func write(_ bytes: [UInt8], at offset: UInt64) {
        for piece in Self.pieces(of: bytes.count, at: offset) {
            pages[piece.page, default: [UInt8](repeating: 0, count: Self.pageBytes)]
                .replaceSubrange(piece.inPage, with: bytes[piece.bytes])
        }
        if !bytes.isEmpty { size = max(size, offset + UInt64(bytes.count)) }
    }

    mutating func truncate(to newSize: UInt64) {
        if newSize < size {
            let pageBytes = UInt64(Self.pageBytes)
            let (whole, rest) = newSize.quotientAndRemainder(dividingBy: pageBytes)
            pages = pages.filter { $0.key < whole || ($0.key == whole && rest > 0) }
            // If the file grows again, the bytes cut off must be zeros.
            pages[whole]?.replaceSubrange(
                Int(rest)..., with: repeatElement(0, count: Self.pageBytes - Int(rest)))
        }
        size = newSize
    }

    /// Turns a range into zeros. Pages that are completely in it use no more space.
    mutating func punch(_ range: Range<UInt64>) {
        let range = range.clamped(to: 0..<max(size, range.lowerBound))
        for piece in Self.pieces(of: range.count, at: range.lowerBound)
        where pages[piece.page] != nil {
            let end = piece.page * UInt64(Self.pageBytes) + UInt64(piece.inPage.upperBound)
            if piece.inPage.lowerBound == 0, piece.inPage.count == Self.pageBytes || end == size {
                pages[piece.page] = nil
            } else {
                pages[piece.page]?.replaceSubrange(
                    piece.inPage, with: repeatElement(0, count: piece.inPage.count))
            }
        }
    }

    /// The part of a read or write that lies in one page.
    private struct Piece {
        let page: UInt64
        let inPage: Range<Int>
        /// Its place in the caller's bytes.
        let bytes: Range<Int>
    }

    private static func pieces(of count: Int, at offset: UInt64) -> some Sequence<Piece> {
        sequence(state: 0) { done -> Piece? in
            guard done < count else { return nil }
            let (page, start) = (offset + UInt64(done))
                .quotientAndRemainder(dividingBy: UInt64(pageBytes))
            let length = min(pageBytes - Int(start), count - done)
            defer { done += length }
            return Piece(
                page: page, inPage: Int(start)..<Int(start) + length, bytes: done..<done + length)
        }
    }
}
