/// Finds the quality at which an encoder makes about as many bytes of a picture as it takes now.
///
/// WebP and HEIF files do not tell what quality they were made with, and encoders' scales differ
/// anyway; bytes for each pixel are what they have in common. The trial codes a sample of the
/// unfiltered picture: tiles from all over it, so that sky and leaves weigh as they do in whole.
struct QualityTrial {
    /// Bytes for each pixel of the original.
    let density: Double

    static let qualities = 20...95
    private static let tileSide = 192
    /// Tiles on either axis at most: a third of a megapixel in all.
    private static let tilesAcrossMax = 3
    private static let roundsMax = 4

    /// - Parameters:
    ///   - image: The original's pixels, in memory: tiles are taken out of order.
    ///   - encode: Makes a file of an image at a quality; what it adds to the picture's bytes must
    ///     not count.
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

    /// Tiles in even distances, side by side; the image itself where it is small.
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
            // Even offsets keep chroma samples where the original has them.
            let tile = try image.cropped(
                left: left & ~1, top: top & ~1, width: tileSide, height: tileSide)
            if let joined = result { result = try joined.joined(with: tile) } else { result = tile }
        }
        return result ?? image
    }
}
