/// The chunks of a PNG file (W3C PNG, third edition).
///
/// As with JPEG, libvips makes the picture and everything else is taken over byte for byte.
struct PNGFile {
    struct Chunk {
        let type: String
        /// The whole chunk with length, type and checksum.
        let bytes: [UInt8]
    }

    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private let chunks: [Chunk]

    /// - Throws: `.damaged` where the structure leads outside of the file.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        let reader = ByteReader(bytes: bytes)
        var chunks: [Chunk] = []
        var offset = Self.signature.count
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

    /// Puts a new picture in place of the old one.
    ///
    /// - Parameters:
    ///   - new: A PNG file as libvips writes it, in true colour.
    ///   - isConverted: Whether the new picture is sRGB although the old one was something else.
    func replacingPicture(
        with new: [UInt8], isConverted: Bool
    ) throws(ImageError) -> [UInt8] {
        let parsed = new.withUnsafeBytes { raw in
            Result { () throws(ImageError) in try PNGFile(raw) }
        }
        let picture = try parsed.get().chunks
        var result = Self.signature
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

    /// Chunks whose meaning hangs on how the old pixels were stored.
    private static let ofThePicture: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "bKGD", "hIST", "sBIT", "sPLT",
    ]

    private static let ofTheColours: Set<String> = ["iCCP", "sRGB", "gAMA", "cHRM", "cICP"]

    /// An `sRGB` chunk with perceptual intent, checksum included.
    private static let standardColours: [UInt8] = [
        0, 0, 0, 1, 0x73, 0x52, 0x47, 0x42, 0, 0xAE, 0xCE, 0x1C, 0xE9,
    ]
}
