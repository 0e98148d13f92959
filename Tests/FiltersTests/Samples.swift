import CVips
import Foundation

@testable import Filters

/// Images to test with: the photos that `APUS_PHOTOS` names, or that lie in `../shared/photos`, and
/// others made here.
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

    /// Photos that decode without errors; made ones where there are none.
    static func wholeImages() throws -> [(name: String, bytes: [UInt8])] {
        let found = try photos.filter { $0.lastPathComponent != "corrupted.jpg" }
            .map { ($0.lastPathComponent, [UInt8](try Data(contentsOf: $0))) }
        guard found.isEmpty else { return found }
        return [
            ("made.jpg", withExif(try jpeg(quality: 85))), ("made.png", try png(hasAlpha: false)),
            ("made.webp", try webp(isLossless: false, hasAlpha: false)),
        ]
    }

    /// A picture with flat parts, ramps and edges. Deterministic.
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

    static func jpeg(quality: Int, width: Int = 160, height: Int = 120) throws -> [UInt8] {
        try image(width: width, height: height).encoded(
            as: .jpeg(quality: quality, subsampling: .quarter, isProgressive: false))
    }

    static func png(hasAlpha: Bool, is16Bit: Bool = false) throws -> [UInt8] {
        try image(bands: hasAlpha ? 4 : 3, is16Bit: is16Bit).encoded(as: .png(isInterlaced: false))
    }

    static func webp(isLossless: Bool, hasAlpha: Bool, quality: Int = 80) throws -> [UInt8] {
        try image(bands: hasAlpha ? 4 : 3).encoded(
            as: .webp(quality: quality, isLossless: isLossless))
    }

    /// The JPEG with an EXIF segment of orientation 6 and a maker note, and a comment.
    static func withExif(_ jpeg: [UInt8]) -> [UInt8] {
        var tiff: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 2]
        tiff += [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0]
        tiff += [0x92, 0x7C, 0, 7, 0, 0, 0, 4, 1, 2, 3, 4]
        tiff += [0, 0, 0, 0]
        let payload = Array("Exif\0\0".utf8) + tiff
        var result = Array(jpeg.prefix(2)) + [0xFF, 0xE1]
        result.append(integer: payload.count + 2, size: 2)
        result += payload
        result += [0xFF, 0xFE, 0, 7] + Array("hello".utf8)
        return result + jpeg.dropFirst(2)
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
