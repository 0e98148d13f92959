import CVips
import Filters

/// The encoding of a picture, as far as the user or the original determines it.
enum PictureCoding {
    case jpeg(quality: Int, subsampling: JPEGFile.ChromaSubsampling, isProgressive: Bool)
    case png(isInterlaced: Bool)
    case webp(quality: Int, isLossless: Bool)
    case tiff(TIFFCoding, pageHeight: Int)
    case heif(HEIFCoding, quality: Int)
}

/// The properties of a TIFF file's encoding that are kept.
struct TIFFCoding {
    var compression: VipsForeignTiffCompression
    var quality: Int
    var predictor: VipsForeignTiffPredictor
    /// nil for strips.
    var tile: (width: Int, height: Int)?
    var hasPremultipliedAlpha: Bool
}

struct HEIFCoding {
    var compression: VipsForeignHeifCompression
    var bitDepth: Int
    var subsample: VipsForeignSubsample
}

extension Image {
    /// Computes and encodes the picture.
    ///
    /// Damage in the source file is found here, because pixels are decoded during encoding.
    func encoded(as coding: PictureCoding) throws(ImageError) -> [UInt8] {
        var bytes: UnsafeMutableRawPointer?
        var count = 0
        let status = save(as: coding, into: &bytes, count: &count)
        guard status == 0, let bytes else {
            throw ImageError(.damaged, Vips.takeError())
        }
        defer { g_free(bytes) }
        return Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    private func save(
        as coding: PictureCoding, into bytes: inout UnsafeMutableRawPointer?, count: inout Int
    ) -> Int32 {
        switch coding {
        case .jpeg(let quality, let subsampling, let isProgressive):
            apus_vips_save_jpeg(
                pointer, Int32(quality), subsampling.setting, isProgressive ? 1 : 0, &bytes,
                &count)
        case .png(let isInterlaced):
            apus_vips_save_png(pointer, isInterlaced ? 1 : 0, &bytes, &count)
        case .webp(let quality, let isLossless):
            apus_vips_save_webp(pointer, Int32(quality), isLossless ? 1 : 0, &bytes, &count)
        case .tiff(let tiff, let pageHeight):
            apus_vips_save_tiff(
                pointer, tiff.compression, Int32(tiff.quality), 1, tiff.predictor,
                Int32(tiff.tile?.width ?? 0), Int32(tiff.tile?.height ?? 0), Int32(pageHeight),
                tiff.hasPremultipliedAlpha ? 1 : 0, &bytes, &count)
        case .heif(let heif, let quality):
            apus_vips_save_heif(
                pointer, heif.compression, Int32(quality), Int32(heif.bitDepth), heif.subsample,
                &bytes, &count)
        }
    }
}

extension JPEGFile.ChromaSubsampling {
    /// libvips supports 4:4:4 and 4:2:0; schemes in between become 4:4:4, so that no colour is lost.
    fileprivate var setting: VipsForeignSubsample {
        self == .quarter ? VIPS_FOREIGN_SUBSAMPLE_ON : VIPS_FOREIGN_SUBSAMPLE_OFF
    }
}

extension TIFFCoding {
    /// The encoding of a file's first page.
    init(of file: TIFFFile, quality: Int?) {
        let page = file.pages[0]
        typealias Tag = TIFFDirectory.Tag
        self.quality = quality ?? Self.jpegQuality(of: page) ?? 90
        switch page.integers(Tag.compression).first ?? 1 {
        case 1: compression = VIPS_FOREIGN_TIFF_COMPRESSION_NONE
        case 5: compression = VIPS_FOREIGN_TIFF_COMPRESSION_LZW
        case 7: compression = VIPS_FOREIGN_TIFF_COMPRESSION_JPEG
        case 32773: compression = VIPS_FOREIGN_TIFF_COMPRESSION_PACKBITS
        case 50000: compression = VIPS_FOREIGN_TIFF_COMPRESSION_ZSTD
        // Deflate, and all other compressions: it is lossless, and all programs can read it.
        default: compression = VIPS_FOREIGN_TIFF_COMPRESSION_DEFLATE
        }
        predictor =
            page.integers(Tag.predictor).first == 2
            ? VIPS_FOREIGN_TIFF_PREDICTOR_HORIZONTAL : VIPS_FOREIGN_TIFF_PREDICTOR_NONE
        if let width = page.integers(Tag.tileWidth).first,
            let height = page.integers(Tag.tileLength).first,
            width.isMultiple(of: 16), height.isMultiple(of: 16), width > 0, height > 0
        {
            tile = (width, height)
        }
        hasPremultipliedAlpha = file.hasPremultipliedAlpha
    }

    private static func jpegQuality(of page: TIFFDirectory) -> Int? {
        guard let tables = page.entry(TIFFDirectory.Tag.jpegTables)?.value else { return nil }
        return JPEGQuality.nearest(tables: JPEGFile.quantisationTables(in: tables))
    }
}
