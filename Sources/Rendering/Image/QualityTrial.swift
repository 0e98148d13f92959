import Filters

/// Finds the quality at which an encoder keeps the size of a picture.
///
/// WebP and HEIF files do not store their quality, and the scales of encoders differ, so bytes per
/// pixel are compared. The trial encodes a sample of the unfiltered picture: tiles from all parts of
/// it, so that flat and detailed areas have their share.
struct QualityTrial {
    /// Bytes per pixel of the original.
    let density: Double

    static let qualities = 20...95
    private static let tileSide = 192
    /// Tiles per axis: a third of a megapixel in total.
    private static let tilesAcrossMax = 3
    private static let roundsMax = 4

    /// - Parameters:
    ///   - image: The original's pixels, in memory, because tiles are read out of order.
    ///   - encode: Encodes an image at a quality and returns the number of bytes, without those of
    ///     metadata.
    func quality(
        for image: Image, encode: (Image, Int) throws(ImageError) -> Int
    ) throws(ImageError) -> Int {
        let sample = try Self.sample(of: image).inMemory()
        let target = density * Double(sample.width * sample.height)
        var low = Self.qualities.lowerBound
        var high = Self.qualities.upperBound
        var best = (quality: high, distance: Double.infinity)
        for _ in 0..<Self.roundsMax where low <= high {
            let quality = (low + high + 1) / 2
            let bytes = Double(try encode(sample, quality))
            let distance = max(bytes, target) / max(min(bytes, target), 1)
            if distance < best.distance { best = (quality, distance) }
            if bytes < target { low = quality + 1 } else { high = quality - 1 }
        }
        return best.quality
    }

    /// Returns evenly spaced tiles, side by side; a small image as it is.
    private static func sample(of image: Image) throws(ImageError) -> Image {
        let pixelsMax = tileSide * tileSide * tilesAcrossMax * tilesAcrossMax
        guard image.width * image.height > pixelsMax, image.width >= tileSide,
            image.height >= tileSide
        else { return image }
        let columns = min(tilesAcrossMax, image.width / tileSide)
        let rows = min(tilesAcrossMax, image.height / tileSide)
        var result: Image?
        for index in 0..<columns * rows {
            let left = (index % columns * 2 + 1) * (image.width - tileSide) / (columns * 2)
            let top = (index / columns * 2 + 1) * (image.height - tileSide) / (rows * 2)
            // Even offsets keep the alignment of chroma samples.
            let tile = try image.cropped(
                left: left & ~1, top: top & ~1, width: tileSide, height: tileSide)
            if let joined = result { result = try joined.joined(with: tile) } else { result = tile }
        }
        return result ?? image
    }
}
