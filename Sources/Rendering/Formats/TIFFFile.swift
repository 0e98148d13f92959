import Filters

/// The directories of a TIFF file, one per page.
///
/// libvips encodes the picture. All tags that do not describe the storage of pixels, such as EXIF
/// and GPS, are copied from the original. Maker notes with offsets from the start of the file cannot
/// be corrected, because their formats are not public.
struct TIFFFile {
    let pages: [TIFFDirectory]
    private let isBigEndian: Bool

    private static let pagesMax = 10_000

    /// - Throws: `.damaged` if a directory exceeds the file; `.unsupported` for BigTIFF.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        var reader = ByteReader(bytes: bytes)
        reader.isBigEndian = reader.byte(0) == UInt8(ascii: "M")
        isBigEndian = reader.isBigEndian
        guard reader.integer(2, size: 2) == 42 else {
            throw ImageError(.unsupported, "BigTIFF files cannot be written back whole")
        }
        var pages: [TIFFDirectory] = []
        var next = reader.integer(4, size: 4) ?? 0
        while next != 0 {
            guard pages.count < Self.pagesMax,
                let page = TIFFDirectory.read(from: reader, at: next)
            else { throw ImageError(.damaged, "TIFF: a directory leads outside of the file") }
            pages.append(page.directory)
            next = page.next
        }
        guard !pages.isEmpty else { throw ImageError(.damaged, "TIFF: no page") }
        self.pages = pages
    }

    /// - Throws: `.unsupported` if writing the file back would lose something.
    func requireRewritable() throws(ImageError) {
        let first = pages[0]
        if pages.contains(where: { $0.entry(TIFFDirectory.Tag.rawVersion) != nil }) {
            throw ImageError(.unsupported, "a camera raw file; develop it first")
        }
        if pages.contains(where: { $0.entry(TIFFDirectory.Tag.subDirectories) != nil }) {
            throw ImageError(.unsupported, "the TIFF holds sub-images, which would be lost")
        }
        // libvips loads all pages as one image.
        let shape = [
            256, 257, TIFFDirectory.Tag.bitsPerSample, TIFFDirectory.Tag.photometric,
            277, TIFFDirectory.Tag.extraSamples, 339,
        ]
        for page in pages.dropFirst() {
            guard shape.allSatisfy({ page.integers($0) == first.integers($0) }) else {
                throw ImageError(
                    .unsupported,
                    "the TIFF's \(pages.count) pages differ in size or kind; split them first")
            }
        }
    }

    var hasPremultipliedAlpha: Bool {
        pages[0].integers(TIFFDirectory.Tag.extraSamples).first == 1
    }

    /// Returns a new file with the original's tags.
    ///
    /// - Parameters:
    ///   - new: A TIFF file as libvips writes it, with the same number of pages.
    ///   - profile: The new picture's profile; nil keeps the original's.
    func replacingPicture(
        with new: [UInt8], profile: [UInt8]?
    ) throws(ImageError) -> [UInt8] {
        let picture = try new.withBytes(TIFFFile.init)
        guard picture.pages.count == pages.count else {
            throw ImageError(.failed, "TIFF: \(pages.count) pages became \(picture.pages.count)")
        }
        var result = new
        var linkField = 4
        for (original, fresh) in zip(pages, picture.pages) {
            let page = Self.merge(original, picture: fresh, profile: profile)
            let (offset, nextField) = page.append(to: &result)
            result.set(
                integer: offset, at: linkField, size: 4, isBigEndian: picture.isBigEndian)
            linkField = nextField
        }
        guard result.count <= UInt32.max else {
            throw ImageError(.unsupported, "the TIFF would grow beyond 4 GiB")
        }
        return result
    }

    private static func merge(
        _ original: TIFFDirectory, picture: TIFFDirectory, profile: [UInt8]?
    ) -> TIFFDirectory {
        let ofThePicture = TIFFDirectory.Tag.ofThePicture
        var result =
            original.isBigEndian == picture.isBigEndian ? original : original.swapped()
        result.entries.removeAll { ofThePicture.contains($0.tag) }
        result.entries += picture.entries.filter { ofThePicture.contains($0.tag) }
        if let profile {
            result.entries.removeAll { $0.tag == TIFFDirectory.Tag.profile }
            result.entries.append(
                TIFFDirectory.Entry(
                    tag: TIFFDirectory.Tag.profile, type: 7, count: profile.count, value: profile))
        }
        return result
    }
}
