import Filters

extension Renderer {
    /// Pixels of a thumbnail at most; Exif 2.32 recommends 160 x 120.
    private static let thumbnailPixelsMax = 1 << 22

    /// Filters the thumbnail in EXIF data, if there is one. The data keep their length.
    ///
    /// A thumbnail that cannot be filtered is unlinked, so that viewers make one of the new picture
    /// instead of showing the old one.
    func filterThumbnail(in exif: inout [UInt8], base: Int) {
        guard let thumbnail = exif.withUnsafeBytes({ ExifThumbnail(in: $0, base: base) }) else {
            return
        }
        if let place = thumbnail.jpeg,
            let new = filteredThumbnail(Array(exif[place]), bytesMax: place.count),
            thumbnail.replace(with: new, in: &exif)
        {
            return
        }
        thumbnail.unlink(in: &exif)
    }

    /// - Returns: A JPEG stream of the same width and height, coded at the quality of `jpeg`, or
    ///   lower if it would be longer than `bytesMax`; nil if `jpeg` does not decode.
    private func filteredThumbnail(_ jpeg: [UInt8], bytesMax: Int) -> [UInt8]? {
        jpeg.withUnsafeBytes { raw in
            guard let image = try? Image.loadThumbnail(raw),
                image.width * image.height <= Self.thumbnailPixelsMax,
                let filtered = try? Picture(image).filtered(by: filters).image.inMemory()
            else { return nil }
            let quality = (try? JPEGFile(raw).quality) ?? 80
            for quality in stride(from: quality, through: 1, by: -5) {
                // Exif allows no chroma subsampling finer than 4:2:2.
                let new = try? filtered.encoded(
                    as: .jpeg(quality: quality, subsampling: .quarter, isProgressive: false))
                if let new, new.count <= bytesMax { return new }
            }
            return nil
        }
    }
}
