import Testing

@testable import Filters
@testable import Rendering

extension Pictures {
    struct ThumbnailTests {
        private let renderer = Renderer(filters: [.sepia(amount: 1)], quality: 50)
        /// Offset of the thumbnail's length in ``Samples/exif(thumbnail:)``.
        private let lengthOffset = 72

        private static let canWriteHEIF =
            (try? Samples.image(with: Samples.exif(thumbnail: []), as: .heif)) != nil
        private static let formats: [ImageFormat] =
            [.jpeg, .png, .webp] + (canWriteHEIF ? [.heif] : [])

        @Test(arguments: formats)
        func `the thumbnail is filtered, and all other EXIF data stay`(format: ImageFormat) throws {
            try expectFiltered(Samples.jpeg(quality: 80, width: 80, height: 60), in: format)
        }

        /// Goal: the new thumbnail fits in the place of the old one, whose size varies with its coding.
        @Test(arguments: [(30, 3), (80, 3), (98, 3), (80, 1)])
        func `thumbnails of any coding are filtered`(quality: Int, bands: Int) throws {
            let thumbnail = try Samples.jpeg(
                quality: quality, width: 160, height: 120, bands: bands)
            try expectFiltered(thumbnail, in: .jpeg)
        }

        @Test func `a thumbnail cut short is filtered as far as it goes`() throws {
            let whole = try Samples.jpeg(quality: 80, width: 80, height: 60)
            let original = Samples.exif(thumbnail: Array(whole.dropLast(200)))
            let new = try #require(thumbnail(in: try exif(after: original, in: .jpeg)))
            #expect(try Samples.samples(of: new).count == 80 * 60 * 3)
        }

        @Test func `a thumbnail that cannot be filtered is unlinked, and nothing else changes`()
            throws
        {
            let original = Samples.exif(thumbnail: [UInt8](repeating: 7, count: 100))
            var expected = original
            expected.set(integer: 0, at: 34, size: 4)
            #expect(try exif(after: original, in: .jpeg) == expected)
        }

        @Test func `a PNG's EXIF chunk gets the right checksum`() throws {
            // The checksum of the chunk `IEND`, which is the same in every PNG.
            #expect(PNGFile.checksum(Array("IEND".utf8)[...]) == 0xAE42_6082)
        }

        @Test func `offsets near the largest integer are damage`() throws {
            var table: [UInt8] = [0, 0, 0, 0, 0x88, 0x80, 0, 1, 0, 1, 0, 0]
            table += [0x7F] + [UInt8](repeating: 0xFF, count: 7) + [0, 1]
            table += [0x7F] + [UInt8](repeating: 0xFF, count: 15)
            let file =
                box("ftyp", Array("heic".utf8)) + box("meta", [0, 0, 0, 0] + box("iloc", table))
            #expect(try file.withUnsafeBytes { try HEIFFile($0).exif } == nil)
        }

        private func box(_ type: String, _ body: [UInt8]) -> [UInt8] {
            var result: [UInt8] = []
            result.append(integer: body.count + 8, size: 4)
            return result + type.utf8 + body
        }

        private func expectFiltered(_ old: [UInt8], in format: ImageFormat) throws {
            let original = Samples.exif(thumbnail: old)
            let result = try exif(after: original, in: format)
            #expect(result.count == original.count)
            #expect(result.prefix(lengthOffset) == original.prefix(lengthOffset))
            let new = try #require(thumbnail(in: result))
            let before = try Samples.samples(of: old)
            let isGrey = before.count == 160 * 120
            let colours = isGrey ? before.flatMap { [$0, $0, $0] } : before
            let difference = Reference.meanDifference(
                from: colours, to: try Samples.samples(of: new))
            #expect(difference <= 8, "\(difference)")
        }

        /// The EXIF data of a rendered image that had `exif`.
        private func exif(after exif: [UInt8], in format: ImageFormat) throws -> [UInt8] {
            let result = try renderer.render(Samples.image(with: exif, as: format), as: format)
            return try result.withUnsafeBytes { raw in
                var found: [UInt8] = []
                let collect = { (bytes: inout [UInt8], base: Int) in found = Array(bytes[base...]) }
                switch format {
                case .jpeg:
                    var file = try JPEGFile(raw)
                    file.updateExif(collect)
                case .png:
                    var file = try PNGFile(raw)
                    file.updateExif(collect)
                    found.removeLast(4)
                case .webp:
                    var file = try WebPFile(raw)
                    file.updateExif(collect)
                case .heif: found = try HEIFFile(raw).exif.map { Array($0.dropFirst(4)) } ?? []
                case .tiff: break
                }
                return found
            }
        }

        private func thumbnail(in exif: [UInt8]) -> [UInt8]? {
            exif.withUnsafeBytes { ExifThumbnail(in: $0, base: 0) }?.jpeg.map { Array(exif[$0]) }
        }
    }
}
