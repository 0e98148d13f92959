import Filters

/// The chunks of a WebP file (RFC 9649).
///
/// As with JPEG, libvips encodes the picture, and everything else is copied byte for byte.
struct WebPFile {
    struct Chunk {
        let type: String
        fileprivate(set) var payload: [UInt8]
    }

    private(set) var chunks: [Chunk]

    /// - Throws: `.damaged` if a chunk exceeds the file.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        let reader = ByteReader(bytes: bytes, isBigEndian: false)
        guard let size = reader.integer(4, size: 4), size + 8 <= reader.count else {
            throw ImageError(.damaged, "WebP: the file ends too early")
        }
        var chunks: [Chunk] = []
        var offset = 12
        while offset + 8 <= size + 8 {
            guard let type = reader.text(offset, count: 4),
                let length = reader.integer(offset + 4, size: 4),
                let payload = reader.slice(offset + 8, count: length)
            else { throw ImageError(.damaged, "WebP: a chunk ends too late") }
            chunks.append(Chunk(type: type, payload: payload))
            offset += 8 + length + length % 2
        }
        self.chunks = chunks
    }

    var isAnimated: Bool { chunks.contains { $0.type == "ANIM" || $0.type == "ANMF" } }

    var isLossless: Bool { chunks.contains { $0.type == "VP8L" } }

    /// Bytes of the picture, without metadata.
    var pictureBytes: Int {
        chunks.filter { Self.ofThePicture.contains($0.type) }.reduce(0) { $0 + $1.payload.count }
    }

    private static let ofThePicture: Set<String> = ["VP8 ", "VP8L", "VP8X", "ALPH"]

    /// Updates the EXIF data.
    ///
    /// - Parameter update: Called with a payload and the offset of EXIF's byte-order mark in it.
    mutating func updateExif(_ update: (inout [UInt8], Int) -> Void) {
        for index in chunks.indices where chunks[index].type == "EXIF" {
            // Some programs write the name that EXIF has in JPEG files.
            let name = JPEGFile.Segment.exifName
            let base = chunks[index].payload.starts(with: name) ? name.count : 0
            update(&chunks[index].payload, base)
        }
    }

    /// Returns the file with a new picture.
    ///
    /// - Parameters:
    ///   - new: A WebP file as libvips writes it, without metadata.
    ///   - image: The properties of the new picture.
    func replacingPicture(
        with new: [UInt8], of image: (width: Int, height: Int, hasAlpha: Bool)
    ) throws(ImageError) -> [UInt8] {
        let kept = chunks.filter { !Self.ofThePicture.contains($0.type) }
        guard !kept.isEmpty else { return new }
        let picture = try new.withBytes(WebPFile.init).chunks.filter {
            $0.type != "VP8X" && Self.ofThePicture.contains($0.type)
        }
        let types = Set(kept.map(\.type))
        // The order is fixed: the header, the profile, the picture, then the rest.
        var result: [UInt8] = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8)
        Self.append(Self.header(keeping: types, of: image), to: &result)
        for chunk in kept where chunk.type == "ICCP" { Self.append(chunk, to: &result) }
        for chunk in picture { Self.append(chunk, to: &result) }
        for chunk in kept where chunk.type != "ICCP" { Self.append(chunk, to: &result) }
        result.set(integer: result.count - 8, at: 4, size: 4, isBigEndian: false)
        return result
    }

    private static func header(
        keeping types: Set<String>, of image: (width: Int, height: Int, hasAlpha: Bool)
    ) -> Chunk {
        var flags: UInt8 = 0
        if types.contains("ICCP") { flags |= 0x20 }
        if image.hasAlpha { flags |= 0x10 }
        if types.contains("EXIF") { flags |= 0x08 }
        if types.contains("XMP ") { flags |= 0x04 }
        var payload: [UInt8] = [flags, 0, 0, 0]
        payload.append(integer: image.width - 1, size: 3, isBigEndian: false)
        payload.append(integer: image.height - 1, size: 3, isBigEndian: false)
        return Chunk(type: "VP8X", payload: payload)
    }

    private static func append(_ chunk: Chunk, to result: inout [UInt8]) {
        result += chunk.type.utf8
        result.append(integer: chunk.payload.count, size: 4, isBigEndian: false)
        result += chunk.payload
        if !chunk.payload.count.isMultiple(of: 2) { result.append(0) }
    }
}
