import Filters

/// The thumbnail in EXIF data (Exif 2.32, section 4.5.5), to which the second directory points.
///
/// It is replaced in place: everything else keeps its offset, which maker notes depend on.
struct ExifThumbnail {
    /// The JPEG stream; nil if the thumbnail is stored as uncompressed pixels.
    let jpeg: Range<Int>?
    private let length: TIFFFields.Field?
    private let linkOffset: Int
    private let isBigEndian: Bool

    private enum Tag {
        static let stripOffsets = 273
        static let jpegOffset = 513
        static let jpegLength = 514
    }

    /// - Parameters:
    ///   - exif: Data that contain an EXIF structure.
    ///   - base: Offset of its byte-order mark.
    /// - Returns: nil if there is no thumbnail.
    init?(in exif: UnsafeRawBufferPointer, base: Int) {
        let fields = TIFFFields(exif, base: base)
        guard let first = fields.first, first.next != 0,
            let second = fields.directory(at: first.next)
        else { return nil }
        isBigEndian = fields.isBigEndian
        linkOffset = first.nextOffset
        length = second.fields[Tag.jpegLength]
        if let offset = second.fields[Tag.jpegOffset]?.value, let length {
            let start = base + offset
            guard start + length.value <= exif.count, length.value > 0 else { return nil }
            jpeg = start..<start + length.value
        } else {
            guard second.fields[Tag.stripOffsets] != nil else { return nil }
            jpeg = nil
        }
    }

    /// Overwrites the thumbnail with another JPEG stream.
    ///
    /// - Returns: false, with nothing changed, if the stream is longer than the old one.
    func replace(with new: [UInt8], in exif: inout [UInt8]) -> Bool {
        guard let jpeg, let length, new.count <= jpeg.count else { return false }
        let padding = [UInt8](repeating: 0, count: jpeg.count - new.count)
        exif.replaceSubrange(jpeg, with: new + padding)
        exif.set(
            integer: new.count, at: length.valueOffset, size: length.valueBytes,
            isBigEndian: isBigEndian)
        return true
    }

    /// Removes the link to the thumbnail's directory.
    func unlink(in exif: inout [UInt8]) {
        exif.set(integer: 0, at: linkOffset, size: 4)
    }
}
