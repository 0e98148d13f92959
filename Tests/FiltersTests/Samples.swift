import CVips
import Foundation

@testable import Filters
@testable import Rendering

/// Images for tests: the photos in `APUS_PHOTOS` or `../shared/photos`, and generated ones.
enum Samples {
    static let photos: [URL] = {
        let package = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folder =
            ProcessInfo.processInfo.environment["APUS_PHOTOS"].map { URL(filePath: $0) }
            ?? package.appending(path: "../shared/photos").standardizedFileURL
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let files = (found?.allObjects as? [URL]) ?? []
        return files.filter { ImageFormat.isSuggested(byName: Array($0.lastPathComponent.utf8)) }
            .sorted { $0.path < $1.path }
    }()

    /// Photos that decode without errors; generated images if there are no photos.
    static func wholeImages() throws -> [(name: String, bytes: [UInt8])] {
        let found = try photos.filter { $0.lastPathComponent != "corrupted.jpg" }
            .map { ($0.lastPathComponent, [UInt8](try Data(contentsOf: $0))) }
        guard found.isEmpty else { return found }
        return [
            ("made.jpg", withExif(try jpeg(quality: 85))), ("made.png", try png(hasAlpha: false)),
            ("made.webp", try webp(isLossless: false, hasAlpha: false)),
        ]
    }

    /// A deterministic picture with flat areas, gradients and edges.
    static func image(
        width: Int = 160, height: Int = 120, bands: Int = 3, is16Bit: Bool = false
    ) throws -> Image {
        let sampleMax = is16Bit ? 65_535 : 255
        var samples: [UInt16] = []
        for y in 0..<height {
            for x in 0..<width {
                let values = [
                    x * sampleMax / width, y * sampleMax / height,
                    (x / 16 + y / 16).isMultiple(of: 2) ? sampleMax : sampleMax / 5,
                    (x + y) * sampleMax / (width + height),
                ]
                samples += values.prefix(bands).map { UInt16($0) }
            }
        }
        precondition(Vips.started)
        let memory = samples.withUnsafeBytes {
            vips_image_new_from_memory_copy(
                $0.baseAddress, $0.count, Int32(width), Int32(height), Int32(bands),
                VIPS_FORMAT_USHORT)
        }
        let image = try Image.adopt(memory).cast(
            to: is16Bit ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR)
        let isGrey = bands < 3
        if is16Bit {
            return try image.interpreted(
                as: isGrey ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16)
        }
        return try image.interpreted(
            as: isGrey ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB)
    }

    static func jpeg(
        quality: Int, width: Int = 160, height: Int = 120, bands: Int = 3
    ) throws -> [UInt8] {
        try image(width: width, height: height, bands: bands).encoded(
            as: .jpeg(quality: quality, subsampling: .quarter, isProgressive: false))
    }

    static func png(hasAlpha: Bool, is16Bit: Bool = false) throws -> [UInt8] {
        try image(bands: hasAlpha ? 4 : 3, is16Bit: is16Bit).encoded(as: .png(isInterlaced: false))
    }

    static func webp(isLossless: Bool, hasAlpha: Bool, quality: Int = 80) throws -> [UInt8] {
        try image(bands: hasAlpha ? 4 : 3).encoded(
            as: .webp(quality: quality, isLossless: isLossless))
    }

    /// EXIF data with orientation 6, a maker note and a thumbnail.
    static func exif(thumbnail: [UInt8]) -> [UInt8] {
        var exif: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 2]
        exif += [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0]
        exif += [0x92, 0x7C, 0, 7, 0, 0, 0, 4, 1, 2, 3, 4]
        guard !thumbnail.isEmpty else { return exif + [0, 0, 0, 0] }
        exif += [0, 0, 0, 38, 0, 3]
        exif += [0x01, 0x03, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0]
        exif += [0x02, 0x01, 0, 4, 0, 0, 0, 1, 0, 0, 0, 80]
        exif += [0x02, 0x02, 0, 4, 0, 0, 0, 1]
        exif.append(integer: thumbnail.count, size: 4)
        return exif + [0, 0, 0, 0] + thumbnail
    }

    /// The JPEG with EXIF data and a comment.
    static func withExif(_ jpeg: [UInt8]) -> [UInt8] {
        insert(exif(thumbnail: []), into: jpeg)
    }

    private static func insert(_ exif: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
        let payload = Array("Exif\0\0".utf8) + exif
        var result = Array(jpeg.prefix(2)) + [0xFF, 0xE1]
        result.append(integer: payload.count + 2, size: 2)
        result += payload
        result += [0xFF, 0xFE, 0, 7] + Array("hello".utf8)
        return result + jpeg.dropFirst(2)
    }

    /// An image of a format with the given EXIF data.
    static func image(with exif: [UInt8], as format: ImageFormat) throws -> [UInt8] {
        switch format {
        case .jpeg: return insert(exif, into: try jpeg(quality: 85))
        case .png:
            let plain = try png(hasAlpha: false)
            var chunk: [UInt8] = []
            chunk.append(integer: exif.count, size: 4)
            // Neither libvips nor Apus needs the checksum.
            chunk += Array("eXIf".utf8) + exif + [0, 0, 0, 0]
            return plain.prefix(33) + chunk + plain.dropFirst(33)
        case .webp: return try extendedWebP([("EXIF", exif)], flags: 0x08)
        case .heif:
            let image = try image()
            image.setBlob(VIPS_META_EXIF_NAME, to: Array("Exif\0\0".utf8) + exif)
            let coding = HEIFCoding(
                compression: VIPS_FOREIGN_HEIF_COMPRESSION_HEVC, bitDepth: 8,
                subsample: VIPS_FOREIGN_SUBSAMPLE_ON)
            let plain = try image.encoded(as: .heif(coding, quality: 50))
            let result = try plain.withUnsafeBytes {
                try HEIFFile($0).replacingExif(with: [0, 0, 0, 0] + exif)
            }
            return result ?? plain
        case .tiff: throw ImageError(.unsupported, "the EXIF data of a TIFF have no thumbnail")
        }
    }

    /// A lossy WebP with a header for extended features and more chunks.
    static func extendedWebP(_ more: [(type: String, payload: [UInt8])], flags: UInt8) throws
        -> [UInt8]
    {
        let plain = try webp(isLossless: false, hasAlpha: false)
        let picture = try plain.withUnsafeBytes { try WebPFile($0).chunks }
            .filter { $0.type == "VP8 " }.map { ($0.type, $0.payload) }
        let header: [UInt8] = [flags, 0, 0, 0, 159, 0, 0, 119, 0, 0]
        var result: [UInt8] = Array("RIFF\0\0\0\0WEBP".utf8)
        for (type, payload) in [("VP8X", header)] + picture + more {
            result += type.utf8
            result.append(integer: payload.count, size: 4, isBigEndian: false)
            result += payload + (payload.count.isMultiple(of: 2) ? [] : [0])
        }
        result.set(integer: result.count - 8, at: 4, size: 4, isBigEndian: false)
        return result
    }

    /// A JPEG whose picture data are damaged in the middle.
    static func damagedJPEG() throws -> [UInt8] {
        if let photo = photos.first(where: { $0.lastPathComponent == "corrupted.jpg" }) {
            return [UInt8](try Data(contentsOf: photo))
        }
        let whole = try jpeg(quality: 85)
        return Array(whole.prefix(whole.count / 2)) + [0xFF, 0xD9]
    }

    /// All samples of a file's picture.
    static func samples(of bytes: [UInt8]) throws -> [UInt16] {
        guard let format = ImageFormat(signature: bytes) else {
            throw ImageError(.unsupported, "not an image")
        }
        return try bytes.withUnsafeBytes { try Image.load($0, as: format).samples() }
    }
}

extension Renderer {
    func render(_ bytes: [UInt8], as format: ImageFormat) throws(ImageError) -> [UInt8] {
        try bytes.withBytes { (raw) throws(ImageError) in try render(raw, as: format) }
    }
}
