import CVips
import Testing

@testable import Filters
@testable import Rendering

extension Pictures {
    struct RendererTests {
        private let sepia = Renderer(filters: [.sepia(amount: 1)], quality: nil)

        /// Goal: EXIF (with GPS and maker notes, but without the thumbnail), XMP, IPTC, profile and
        /// orientation are those of the original.
        ///
        /// Method: compare each field as libvips reads it, for every photo.
        @Test func `metadata are the same before and after`() throws {
            for (name, bytes) in try Samples.wholeImages() {
                let format = try #require(ImageFormat(signature: bytes))
                // Finding the quality takes seconds for HEIF, and does not affect metadata.
                let renderer =
                    format == .heif ? Renderer(filters: sepia.filters, quality: 40) : sepia
                let result = try renderer.render(bytes, as: format)
                #expect(result != bytes, "\(name)")
                let before = try metadata(bytes, format)
                let after = try metadata(result, format)
                #expect(before == after, "\(name)")
                #expect(try size(bytes, format) == size(result, format), "\(name)")
            }
        }

        @Test func `EXIF with maker notes stays the same to the byte`() throws {
            let original = Samples.withExif(try Samples.jpeg(quality: 85))
            let result = try sepia.render(original, as: .jpeg)
            let exifAndComment = original[2..<original.count].prefix(4 + 6 + 38 + 9)
            #expect(result.starts(with: original.prefix(2) + exifAndComment))
        }

        @Test func `previews after a JPEG's picture stay, and their index follows them`() throws {
            let plain = try Samples.jpeg(quality: 85)
            let preview = try Samples.jpeg(quality: 50, width: 32, height: 32)
            var index: [UInt8] = [0xFF, 0xE2, 0, 0] + Array("MPF\0MM".utf8) + [0, 42, 0, 0, 0, 8]
            index += [0, 1, 0xB0, 0x02, 0, 7, 0, 0, 0, 32, 0, 0, 0, 26, 0, 0, 0, 0]
            let base = 2 + 8
            let entries = index.count
            index += [UInt8](repeating: 0, count: 32)
            index.set(integer: index.count - 2, at: 2, size: 2)
            let mainBytes = plain.count + index.count
            index.set(integer: mainBytes, at: entries + 4, size: 4)
            index.set(integer: preview.count, at: entries + 20, size: 4)
            index.set(integer: mainBytes - base, at: entries + 24, size: 4)
            let original = plain.prefix(2) + index + plain.dropFirst(2) + preview

            let result = try sepia.render(Array(original), as: .jpeg)
            #expect(result.suffix(preview.count).elementsEqual(preview))
            let start = try #require(
                result.indices.first { result[$0...].starts(with: "MPF\0".utf8) })
            let (first, second) = result.withUnsafeBytes { raw in
                let reader = ByteReader(bytes: raw)
                let entries = start + 4 + 26
                return (reader.integer(entries + 4, size: 4), reader.integer(entries + 24, size: 4))
            }
            #expect(first == result.count - preview.count)
            #expect(second == result.count - preview.count - start - 4)
        }

        @Test func `alpha is not touched in PNG and WebP`() throws {
            let png = try Samples.png(hasAlpha: true)
            let webp = try Samples.webp(isLossless: true, hasAlpha: true)
            for (bytes, format) in [(png, ImageFormat.png), (webp, .webp)] {
                let before = try Samples.samples(of: bytes)
                let after = try Samples.samples(of: sepia.render(bytes, as: format))
                // Lossless formats, so the whole way through the file is exact.
                #expect(
                    Reference.worstDifference(
                        from: before, to: after, bands: 4, amount: 1, sampleMax: 255) <= 2)
            }
        }

        @Test func `a 16-bit PNG stays one`() throws {
            let original = try Samples.png(hasAlpha: false, is16Bit: true)
            let result = try sepia.render(original, as: .png)
            let worst = Reference.worstDifference(
                from: try Samples.samples(of: original), to: try Samples.samples(of: result),
                bands: 3,
                amount: 1, sampleMax: 65_535)
            #expect(worst <= 2)
        }

        @Test(arguments: [40, 60, 75, 85, 92, 98])
        func `JPEG quality stays near the original's`(quality: Int) throws {
            let original = try Samples.jpeg(quality: quality)
            let result = try sepia.render(original, as: .jpeg)
            let (estimate, kept) = try (jpegQuality(original), jpegQuality(result))
            #expect(abs(estimate - quality) <= 1)
            #expect(kept == estimate)
        }

        @Test func `a given quality overrides the original's`() throws {
            let original = try Samples.jpeg(quality: 90)
            let renderer = Renderer(filters: [.sepia(amount: 1)], quality: 40)
            #expect(try abs(jpegQuality(renderer.render(original, as: .jpeg)) - 40) <= 1)
        }

        @Test(arguments: [50, 75, 90])
        func `WebP quality stays near the original's`(quality: Int) throws {
            let original = try Samples.webp(isLossless: false, hasAlpha: false, quality: quality)
            let result = try Renderer(filters: [.sepia(amount: 0)], quality: nil)
                .render(original, as: .webp)
            let ratio = Double(result.count) / Double(original.count)
            #expect((0.75...1.33).contains(ratio))
        }

        @Test func `a lossless WebP stays lossless`() throws {
            let result = try sepia.render(
                Samples.webp(isLossless: true, hasAlpha: false), as: .webp)
            #expect(try result.withUnsafeBytes { try WebPFile($0).isLossless })
        }

        @Test func `WebP profile, EXIF and XMP stay the same to the byte`() throws {
            let exif = Array("MM\0*\0\0\0\u{8}\0\0\0\0\0\0".utf8)
            let original = try Samples.extendedWebP(
                [("EXIF", exif), ("XMP ", Array("<x:xmpmeta/>".utf8))], flags: 0x0C)

            let result = try sepia.render(original, as: .webp)
            let (before, after) = try (
                original.withUnsafeBytes { try WebPFile($0).chunks },
                result.withUnsafeBytes { try WebPFile($0).chunks }
            )
            #expect(before.map(\.type) == after.map(\.type))
            for type in ["VP8X", "EXIF", "XMP "] {
                #expect(
                    before.first { $0.type == type }?.payload
                        == after.first { $0.type == type }?.payload)
            }
        }

        @Test func `a TIFF keeps all its pages, its tags and its compression`() throws {
            let tall = try Samples.image(width: 64, height: 96)
            let coding = TIFFCoding(
                compression: VIPS_FOREIGN_TIFF_COMPRESSION_LZW, quality: 75,
                predictor: VIPS_FOREIGN_TIFF_PREDICTOR_HORIZONTAL, tile: nil,
                hasPremultipliedAlpha: false)
            let plain = try tall.encoded(as: .tiff(coding, pageHeight: 32))
            let original = try tagged(plain)

            let result = try sepia.render(original, as: .tiff)
            let pages = try result.withUnsafeBytes { try TIFFFile($0).pages }
            #expect(pages.count == 3)
            #expect(pages[0].integers(TIFFDirectory.Tag.compression) == [5])
            for (index, page) in pages.enumerated() {
                #expect(page.entry(Tag.artist)?.value == Array("page \(index)\0".utf8))
                let exif = try #require(page.children[TIFFDirectory.Tag.exif])
                #expect(exif.entry(Tag.makerNote)?.value == [9, 8, 7, 6, 5])
            }
            let worst = Reference.worstDifference(
                from: try Samples.samples(of: original), to: try Samples.samples(of: result),
                bands: 3,
                amount: 1, sampleMax: 255)
            #expect(worst <= 2)
        }

        @Test func `a TIFF whose pages differ is refused`() throws {
            let coding = TIFFCoding(
                compression: VIPS_FOREIGN_TIFF_COMPRESSION_NONE, quality: 75,
                predictor: VIPS_FOREIGN_TIFF_PREDICTOR_NONE, tile: nil, hasPremultipliedAlpha: false
            )
            var bytes = try Samples.image(width: 32, height: 64)
                .encoded(as: .tiff(coding, pageHeight: 32))
            // The second page is declared to be a row less high.
            let second = try #require(
                bytes.withUnsafeBytes { raw -> Int? in
                    let reader = ByteReader(bytes: raw, isBigEndian: false)
                    guard let first = reader.integer(4, size: 4) else { return nil }
                    return TIFFDirectory.read(from: reader, at: first)?.next
                })
            let entry = try #require(
                (0..<20).map { second + 2 + 12 * $0 }.first {
                    bytes[$0] == 1 && bytes[$0 + 1] == 1
                })
            bytes.set(integer: 31, at: entry + 8, size: 2, isBigEndian: false)
            let error = #expect(throws: ImageError.self) { try sepia.render(bytes, as: .tiff) }
            #expect(error?.kind == .unsupported)
        }

        @Test func `a damaged JPEG is refused as damaged`() throws {
            let bytes = try Samples.damagedJPEG()
            let error = #expect(throws: ImageError.self) { try sepia.render(bytes, as: .jpeg) }
            #expect(error?.kind == .damaged)
        }

        /// Goal: no damage in a container's structure brings the process down.
        ///
        /// Method: cut each format at many lengths, and flip bytes of its beginning.
        @Test func `cut and garbled files are refused, or rendered, but never crash`() throws {
            let exif = Samples.exif(thumbnail: try Samples.jpeg(quality: 80, width: 16, height: 16))
            let files: [(ImageFormat, [UInt8])] = [
                (.jpeg, try Samples.image(with: exif, as: .jpeg)),
                (.png, try Samples.png(hasAlpha: true)),
                (.webp, try Samples.webp(isLossless: true, hasAlpha: true)),
            ]
            for (format, whole) in files {
                for count in stride(from: 1, to: whole.count, by: whole.count / 20 + 1) {
                    _ = try? sepia.render(Array(whole.prefix(count)), as: format)
                }
                for offset in 12..<min(120, whole.count) {
                    var garbled = whole
                    garbled[offset] ^= 0xFF
                    _ = try? sepia.render(garbled, as: format)
                }
            }
        }

        private enum Tag {
            static let artist = 315
            static let makerNote = 37500
        }

        /// Puts an artist and an EXIF directory on each page.
        private func tagged(_ plain: [UInt8]) throws -> [UInt8] {
            let pages = try plain.withUnsafeBytes { try TIFFFile($0).pages }
            var result = plain
            var linkField = 4
            for (index, page) in pages.enumerated() {
                var page = page
                let artist = Array("page \(index)\0".utf8)
                page.entries.append(
                    TIFFDirectory.Entry(
                        tag: Tag.artist, type: 2, count: artist.count, value: artist))
                var exif = TIFFDirectory(isBigEndian: page.isBigEndian)
                exif.entries = [
                    TIFFDirectory.Entry(
                        tag: Tag.makerNote, type: 7, count: 5, value: [9, 8, 7, 6, 5])
                ]
                page.children[TIFFDirectory.Tag.exif] = exif
                let (offset, next) = page.append(to: &result)
                result.set(integer: offset, at: linkField, size: 4, isBigEndian: false)
                linkField = next
            }
            return result
        }

        private func withoutThumbnail(_ exif: [UInt8]) -> [UInt8] {
            let name = JPEGFile.Segment.exifName
            let base = exif.starts(with: name) ? name.count : 0
            let thumbnail = exif.withUnsafeBytes { ExifThumbnail(in: $0, base: base) }
            var result = exif
            _ = thumbnail?.replace(with: [], in: &result)
            return result
        }

        private func jpegQuality(_ bytes: [UInt8]) throws -> Int {
            try #require(try bytes.withUnsafeBytes { try JPEGFile($0).quality })
        }

        private func size(_ bytes: [UInt8], _ format: ImageFormat) throws -> [Int] {
            try bytes.withUnsafeBytes { raw in
                let image = try Image.load(raw, as: format)
                return [image.width, image.height]
            }
        }

        private func metadata(
            _ bytes: [UInt8], _ format: ImageFormat
        ) throws -> [String: [UInt8]] {
            try bytes.withUnsafeBytes { raw in
                let image = try Image.load(raw, as: format)
                var result: [String: [UInt8]] = [:]
                for name in [
                    "exif-data", "xmp-data", "iptc-data", "icc-profile-data", "heif-mime-1",
                ] {
                    result[name] = image.blob(name)
                }
                result["exif-data"] = result["exif-data"].map(withoutThumbnail)
                result["orientation"] = image.integer("orientation").map { [UInt8($0)] }
                return result
            }
        }
    }
}
