import CVips
import Filters

/// An image before or after the filters.
struct Picture {
    let image: Image
    /// The profile of the pixels if it is not the original's.
    let newProfile: [UInt8]?

    init(_ image: Image, newProfile: [UInt8]? = nil) {
        self.image = image
        self.newProfile = newProfile
    }

    /// Applies all filters.
    ///
    /// - Returns: Three bands, with samples of the same size, and the alpha band if there is one.
    func filtered(by filters: [Filter]) throws(ImageError) -> Picture {
        let format = image.sampleFormat
        guard format == VIPS_FORMAT_UCHAR || format == VIPS_FORMAT_USHORT else {
            throw ImageError(.unsupported, "samples are neither of 8 nor of 16 bits")
        }
        let colourBands = image.bands - (image.hasAlpha ? 1 : 0)
        let colour = try image.extractingBands(0..<colourBands)
        let prepared = try Self.prepare(colour)
        var result = prepared.image
        for filter in filters {
            // After each filter, not only at the end, because the specification clamps each result.
            result = try filter.apply(to: result).rounded().cast(to: format)
        }
        if image.hasAlpha {
            let alpha = try image.extractingBands(colourBands..<image.bands)
            result = try result.appendingBands(of: alpha)
        }
        let is16Bit = format == VIPS_FORMAT_USHORT
        result = try result.interpreted(
            as: is16Bit ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB)
        return Picture(result, newProfile: prepared.newProfile)
    }

    /// Converts the colours to red, green and blue.
    private static func prepare(_ colour: Image) throws(ImageError) -> Picture {
        let is16Bit = colour.sampleFormat == VIPS_FORMAT_USHORT
        switch (colour.interpretation, colour.bands) {
        case (VIPS_INTERPRETATION_sRGB, 3), (VIPS_INTERPRETATION_RGB, 3),
            (VIPS_INTERPRETATION_RGB16, 3):
            return Picture(colour)
        case (VIPS_INTERPRETATION_B_W, 1), (VIPS_INTERPRETATION_GREY16, 1):
            if colour.profile != nil {
                return try toSRGB(colour, fallback: "srgb", is16Bit: is16Bit)
            }
            return Picture(try colour.appendingBands(of: colour).appendingBands(of: colour))
        case (VIPS_INTERPRETATION_CMYK, 4):
            return try toSRGB(colour, fallback: "cmyk", is16Bit: is16Bit)
        default:
            let space = String(
                cString: vips_enum_nick(
                    vips_interpretation_get_type(), Int32(colour.interpretation.rawValue)))
            throw ImageError(
                .unsupported, "\(colour.bands) channels of \(space); convert it to RGB first")
        }
    }

    private static func toSRGB(
        _ colour: Image, fallback: String, is16Bit: Bool
    ) throws(ImageError) -> Picture {
        let converted = try Image.adopt(
            apus_vips_to_srgb(colour.pointer, fallback, is16Bit ? 16 : 8))
        return Picture(converted, newProfile: converted.profile)
    }
}
