import CVips
import Filters

/// A libvips image, whose pixels are computed as they are written out.
///
/// The bytes that it was loaded from must stay in place while it, or an image derived from it, is in
/// use.
final class Image {
    let pointer: UnsafeMutablePointer<VipsImage>

    /// Takes ownership of the reference.
    private init(owning pointer: UnsafeMutablePointer<VipsImage>) {
        self.pointer = pointer
    }

    deinit {
        apus_vips_unref(pointer)
    }

    /// Returns the result of a libvips call, or throws its error.
    static func adopt(
        _ pointer: UnsafeMutablePointer<VipsImage>?, else kind: ImageError.Kind = .failed
    ) throws(ImageError) -> Image {
        guard let pointer else { throw ImageError(kind, Vips.takeError()) }
        return Image(owning: pointer)
    }

    static func load(
        _ bytes: UnsafeRawBufferPointer, as format: ImageFormat
    ) throws(ImageError) -> Image {
        guard Vips.started else { throw ImageError(.failed, "libvips does not start") }
        let base = bytes.baseAddress
        let pointer =
            switch format {
            case .jpeg: apus_vips_load_jpeg(base, bytes.count, VIPS_FAIL_ON_WARNING)
            case .png: apus_vips_load_png(base, bytes.count)
            case .webp: apus_vips_load_webp(base, bytes.count)
            case .tiff: apus_vips_load_tiff(base, bytes.count)
            case .heif: apus_vips_load_heif(base, bytes.count)
            }
        return try adopt(pointer, else: .damaged)
    }

    /// Loads a JPEG thumbnail, as far as it decodes: viewers show damaged ones too.
    static func loadThumbnail(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> Image {
        try adopt(
            apus_vips_load_jpeg(bytes.baseAddress, bytes.count, VIPS_FAIL_ON_NONE), else: .damaged)
    }

    var width: Int { Int(vips_image_get_width(pointer)) }
    var height: Int { Int(vips_image_get_height(pointer)) }
    var bands: Int { Int(vips_image_get_bands(pointer)) }
    var sampleFormat: VipsBandFormat { vips_image_get_format(pointer) }
    var interpretation: VipsInterpretation { vips_image_get_interpretation(pointer) }
    var hasAlpha: Bool { vips_image_hasalpha(pointer) != 0 }
    /// Rows per page; the height if there is only one page.
    var pageHeight: Int { Int(vips_image_get_page_height(pointer)) }

    func extractingBands(_ bands: Range<Int>) throws(ImageError) -> Image {
        try .adopt(apus_vips_extract_bands(pointer, Int32(bands.lowerBound), Int32(bands.count)))
    }

    func appendingBands(of other: Image) throws(ImageError) -> Image {
        try .adopt(apus_vips_append_bands(pointer, other.pointer))
    }

    func cropped(left: Int, top: Int, width: Int, height: Int) throws(ImageError) -> Image {
        try .adopt(
            apus_vips_crop(pointer, Int32(left), Int32(top), Int32(width), Int32(height)))
    }

    func joined(with right: Image) throws(ImageError) -> Image {
        try .adopt(apus_vips_join(pointer, right.pointer))
    }

    func cast(to format: VipsBandFormat) throws(ImageError) -> Image {
        try .adopt(apus_vips_cast(pointer, format))
    }

    func rounded() throws(ImageError) -> Image {
        try .adopt(apus_vips_round(pointer))
    }

    func interpreted(as interpretation: VipsInterpretation) throws(ImageError) -> Image {
        try .adopt(apus_vips_interpret(pointer, interpretation))
    }

    /// Multiplies each pixel of three bands by the matrix; returns floating-point samples.
    func recombined(by matrix: ColourMatrix) throws(ImageError) -> Image {
        let coefficients = try Image.adopt(
            vips_image_new_matrix_from_array(3, 3, matrix.coefficients, 9))
        let result = withExtendedLifetime(coefficients) {
            apus_vips_recombine(pointer, coefficients.pointer)
        }
        return try .adopt(result)
    }

    /// Computes all pixels and keeps them in memory.
    func inMemory() throws(ImageError) -> Image {
        let copy = try Image.adopt(vips_image_copy_memory(pointer), else: .damaged)
        // libvips' HEIF loader frees the profile with the loaded image, although copies still
        // refer to it (seen in 8.14).
        if let profile { copy.setBlob(VIPS_META_ICC_NAME, to: profile) }
        return copy
    }

    /// All samples, row by row, with interleaved bands; 8-bit samples are not scaled.
    func samples() throws(ImageError) -> [UInt16] {
        let wide = try cast(to: VIPS_FORMAT_USHORT)
        var byteCount = 0
        let memory = withExtendedLifetime(wide) {
            vips_image_write_to_memory(wide.pointer, &byteCount)
        }
        guard let memory else {
            throw ImageError(.damaged, Vips.takeError())
        }
        defer { g_free(memory) }
        let buffer = UnsafeRawBufferPointer(start: memory, count: byteCount)
        return Array(buffer.bindMemory(to: UInt16.self))
    }
}
