import CVips
package import Filters

/// Filters the contents of image files.
///
/// Filters get three bands (red, green and blue) as the file encodes them. RGB files keep their
/// profile, and the filter applies to their values: for sRGB, as in nearly all photos, this conforms
/// to the specification; for others, it is the result of an editor that works in the file's colour
/// space. Greyscale images become RGB; those with a profile, and CMYK images, are converted to sRGB
/// first. 16-bit images keep their depth. Alpha is not changed.
///
/// The thumbnail in EXIF data is filtered too.
///
/// Floating-point pixels, Lab and other colour spaces, more than one alpha channel, animations and
/// HEIF files with several images are refused, because writing them back would lose something.
package struct Renderer: Sendable {
    package let filters: [Filter]
    /// 1 to 100 for all lossy files; nil keeps about the quality of each original.
    package let quality: Int?
    /// Larger images are refused before a pixel is decoded; see ``PictureLimits/pixelsMax``.
    package let pixelsMax: Int

    package init(
        filters: [Filter], quality: Int?, pixelsMax: Int = PictureLimits.defaultPixelsMax
    ) {
        self.filters = filters
        self.quality = quality
        self.pixelsMax = pixelsMax
    }

    /// - Parameter bytes: A complete file.
    package func render(
        _ bytes: UnsafeRawBufferPointer, as format: ImageFormat
    ) throws(ImageError) -> [UInt8] {
        // Loaders leave messages behind although they succeed.
        vips_error_clear()
        return switch format {
        case .jpeg: try renderJPEG(bytes)
        case .png: try renderPNG(bytes)
        case .webp: try renderWebP(bytes)
        case .tiff: try renderTIFF(bytes)
        case .heif: try renderHEIF(bytes)
        }
    }

    /// Loads the header; pixels are decoded as they are used.
    private func load(
        _ bytes: UnsafeRawBufferPointer, as format: ImageFormat
    ) throws(ImageError) -> Image {
        let image = try Image.load(bytes, as: format)
        let (width, height) = (image.width, image.pageHeight)
        guard width * height <= pixelsMax else {
            throw .tooLarge(width: width, height: height, pixelsMax: pixelsMax)
        }
        return image
    }

    private func renderJPEG(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        var file = try JPEGFile(bytes)
        let image = try load(bytes, as: .jpeg)
        let filtered = try Picture(image).filtered(by: filters)
        let new = try filtered.image.encoded(
            as: .jpeg(
                quality: quality ?? file.quality ?? 90, subsampling: file.subsampling,
                isProgressive: image.integer("jpeg-multiscan") == 1))
        file.updateExif(filterThumbnail)
        return try file.replacingPicture(with: new, profile: filtered.newProfile)
    }

    private func renderPNG(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        var file = try PNGFile(bytes)
        guard !file.isAnimated else { throw ImageError(.unsupported, "an animated PNG") }
        let filtered = try Picture(load(bytes, as: .png)).filtered(by: filters)
        let new = try filtered.image.encoded(as: .png(isInterlaced: file.isInterlaced))
        file.updateExif(filterThumbnail)
        return try file.replacingPicture(with: new, isConverted: filtered.newProfile != nil)
    }

    private func renderWebP(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        var file = try WebPFile(bytes)
        guard !file.isAnimated else { throw ImageError(.unsupported, "an animated WebP") }
        let image = try load(bytes, as: .webp).inMemory()
        let filtered = try Picture(image).filtered(by: filters)
        var quality = quality ?? 100
        if self.quality == nil, !file.isLossless {
            let density = Double(file.pictureBytes) / Double(image.width * image.height)
            quality = try QualityTrial(density: density).quality(for: image) {
                (sample, quality) throws(ImageError) in
                try sample.encoded(as: .webp(quality: quality, isLossless: false)).count
            }
        }
        let new = try filtered.image.encoded(
            as: .webp(
                quality: file.isLossless ? 100 : quality, isLossless: file.isLossless))
        file.updateExif(filterThumbnail)
        return try file.replacingPicture(
            with: new, of: (image.width, image.height, image.hasAlpha))
    }

    private func renderTIFF(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        let file = try TIFFFile(bytes)
        try file.requireRewritable()
        let image = try load(bytes, as: .tiff)
        let filtered = try Picture(image).filtered(by: filters)
        let new = try filtered.image.encoded(
            as: .tiff(TIFFCoding(of: file, quality: quality), pageHeight: image.pageHeight))
        return try file.replacingPicture(with: new, profile: filtered.newProfile)
    }

    private func renderHEIF(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        let file = try HEIFFile(bytes)
        let image = try load(bytes, as: .heif).inMemory()
        if let count = image.integer("n-pages"), count > 1 {
            throw ImageError(.unsupported, "the HEIF file holds \(count) images")
        }
        let coding = HEIFCoding(of: image, in: file)
        try coding.requireEncoder()
        let plain = try image.keepingOnlyProfile(xmp: nil)
        let chosen: Int
        if let quality {
            chosen = quality
        } else {
            chosen = try coding.quality(like: plain, fileBytes: bytes.count)
        }
        let filtered = try Picture(plain).filtered(by: filters).image
            .keepingOnlyProfile(xmp: file.xmp)
        let new = try filtered.encoded(as: .heif(coding, quality: chosen))
        guard var exif = file.exif else { return new }
        filterThumbnail(in: &exif, base: HEIFFile.exifBase(of: exif))
        if file.isTurned { HEIFFile.makeUpright(&exif) }
        let result = try new.withBytes { (raw) throws(ImageError) in
            try HEIFFile(raw).replacingExif(with: exif)
        }
        guard let result else {
            throw ImageError(.failed, "HEIF: no place for the EXIF data")
        }
        return result
    }
}

extension HEIFCoding {
    init(of image: Image, in file: HEIFFile) {
        let isAV1 = image.text("heif-compression") == "av1"
        compression = isAV1 ? VIPS_FOREIGN_HEIF_COMPRESSION_AV1 : VIPS_FOREIGN_HEIF_COMPRESSION_HEVC
        bitDepth = image.integer("heif-bitdepth") ?? 8
        subsample =
            file.chromaFormat == 3 ? VIPS_FOREIGN_SUBSAMPLE_OFF : VIPS_FOREIGN_SUBSAMPLE_ON
    }

    func quality(like image: Image, fileBytes: Int) throws(ImageError) -> Int {
        let density = Double(fileBytes) / Double(image.width * image.height)
        return try QualityTrial(density: density).quality(for: image) {
            (sample, quality) throws(ImageError) in
            try sample.keepingOnlyProfile(xmp: nil).encoded(as: .heif(self, quality: quality)).count
        }
    }

    /// - Throws: `.encoderMissing` if libheif cannot write the format on this machine.
    func requireEncoder() throws(ImageError) {
        let isAV1 = compression == VIPS_FOREIGN_HEIF_COMPRESSION_AV1
        guard isAV1 ? Self.canWriteAV1 : Self.canWriteHEVC else {
            throw ImageError(
                .encoderMissing,
                isAV1
                    ? "no AV1 encoder; install libheif's (Debian, Ubuntu: libheif-plugin-aomenc)"
                    : "no HEVC encoder; install libheif's (Debian, Ubuntu: libheif-plugin-x265)")
        }
    }

    private static let canWriteHEVC = canWrite(VIPS_FOREIGN_HEIF_COMPRESSION_HEVC)
    private static let canWriteAV1 = canWrite(VIPS_FOREIGN_HEIF_COMPRESSION_AV1)

    /// Encodes a black square: asking libheif would need its headers as well.
    private static func canWrite(_ compression: VipsForeignHeifCompression) -> Bool {
        guard Vips.started, let square = apus_vips_black(64, 64, 3) else { return false }
        let coding = HEIFCoding(
            compression: compression, bitDepth: 8, subsample: VIPS_FOREIGN_SUBSAMPLE_ON)
        return (try? Image.adopt(square).encoded(as: .heif(coding, quality: 50))) != nil
    }
}
