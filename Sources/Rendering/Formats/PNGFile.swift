import Filters

/// The chunks of a PNG file (W3C PNG, third edition).
///
/// As with JPEG, libvips encodes the picture, and everything else is copied byte for byte.
struct PNGFile {
    struct Chunk {
        let type: String
        /// The whole chunk with length, type and checksum.
        fileprivate(set) var bytes: [UInt8]
    }

    private var chunks: [Chunk]

    /// - Throws: `.damaged` if a chunk exceeds the file.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        let reader = ByteReader(bytes: bytes)
        var chunks: [Chunk] = []
        var offset = ImageFormat.pngSignature.count
        while chunks.last?.type != "IEND" {
            guard let length = reader.integer(offset, size: 4),
                let type = reader.text(offset + 4, count: 4),
                let chunk = reader.slice(offset, count: 12 + length)
            else { throw ImageError(.damaged, "PNG: a chunk ends too late") }
            chunks.append(Chunk(type: type, bytes: chunk))
            offset += chunk.count
        }
        self.chunks = chunks
    }

    var isAnimated: Bool { chunks.contains { $0.type == "acTL" } }

    var isInterlaced: Bool { chunks.first?.bytes.dropFirst(20).first == 1 }

    /// Updates the EXIF data.
    ///
    /// - Parameter update: Called with a chunk and the offset of EXIF's byte-order mark in it; must
    ///   keep the length.
    mutating func updateExif(_ update: (inout [UInt8], Int) -> Void) {
        for index in chunks.indices where chunks[index].type == "eXIf" {
            update(&chunks[index].bytes, 8)
            let end = chunks[index].bytes.count - 4
            let checksum = Self.checksum(chunks[index].bytes[4..<end])
            chunks[index].bytes.set(integer: Int(checksum), at: end, size: 4)
        }
    }

    /// CRC-32 (W3C PNG, third edition, annex D).
    static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(~0) { checksum, byte in
            (0..<8).reduce(checksum ^ UInt32(byte)) { rest, _ in
                rest >> 1 ^ (rest & 1 == 0 ? 0 : 0xEDB8_8320)
            }
        }
    }

    /// Returns the file with a new picture.
    ///
    /// - Parameters:
    ///   - new: A PNG file as libvips writes it, in true colour.
    ///   - isConverted: Whether the new picture was converted to sRGB from another colour space.
    func replacingPicture(
        with new: [UInt8], isConverted: Bool
    ) throws(ImageError) -> [UInt8] {
        let picture = try new.withBytes(PNGFile.init).chunks
        var result = ImageFormat.pngSignature
        result += picture[0].bytes
        if isConverted { result += Self.standardColours }
        let dropped =
            isConverted ? Self.ofThePicture.union(Self.ofTheColours) : Self.ofThePicture
        let dataIndex = chunks.firstIndex { $0.type == "IDAT" } ?? chunks.endIndex
        for chunk in chunks[..<dataIndex] where !dropped.contains(chunk.type) {
            result += chunk.bytes
        }
        for chunk in picture where chunk.type == "IDAT" { result += chunk.bytes }
        for chunk in chunks[dataIndex...] where !dropped.contains(chunk.type) {
            result += chunk.bytes
        }
        result += picture[picture.count - 1].bytes
        return result
    }

    /// Chunks that depend on the encoding of the old pixels.
    private static let ofThePicture: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "bKGD", "hIST", "sBIT", "sPLT",
    ]

    private static let ofTheColours: Set<String> = ["iCCP", "sRGB", "gAMA", "cHRM", "cICP"]

    /// An `sRGB` chunk with perceptual intent, checksum included.
    private static let standardColours: [UInt8] = [
        0, 0, 0, 1, 0x73, 0x52, 0x47, 0x42, 0, 0xAE, 0xCE, 0x1C, 0xE9,
    ]
}
