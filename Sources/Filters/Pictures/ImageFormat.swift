/// A file format that the filters can read and write.
package enum ImageFormat: String, Hashable, Sendable, CaseIterable, Codable {
    case jpeg
    case png
    case webp
    case tiff
    /// HEIC and AVIF.
    case heif

    /// The first bytes of a PNG file.
    package static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Bytes at the start of a file that identify its format.
    static let signatureBytes = 32

    /// Whether a file name suggests an image.
    ///
    /// Files with other names are not opened, because opening starts a download in a cloud folder.
    /// The name also excludes camera raw files (DNG, NEF, CR2, …), which are TIFF files inside.
    static func isSuggested(byName name: [UInt8]) -> Bool {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        let ending = name[(dot + 1)...].map { (65...90).contains($0) ? $0 + 32 : $0 }
        return nameEndings.contains(String(decoding: ending, as: UTF8.self))
    }

    private static let nameEndings: Set<String> = [
        "jpg", "jpeg", "jpe", "jfif", "png", "webp", "tif", "tiff", "heic", "heif", "hif", "avif",
    ]

    /// Identifies the format from the first bytes of a file; nil if it is none of these.
    init?(signature bytes: some Collection<UInt8>) {
        let bytes = Array(bytes.prefix(Self.signatureBytes))
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: Self.pngSignature) {
            self = .png
        } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
            self = .webp
        } else if bytes.starts(with: [0x49, 0x49, 42, 0])
            || bytes.starts(with: [0x4D, 0x4D, 0, 42])
            || bytes.starts(with: [0x49, 0x49, 43, 0]) || bytes.starts(with: [0x4D, 0x4D, 0, 43])
        {
            self = .tiff
        } else if bytes.dropFirst(4).starts(with: "ftyp".utf8),
            Self.brands.contains(String(decoding: bytes.dropFirst(8).prefix(4), as: UTF8.self))
        {
            self = .heif
        } else {
            return nil
        }
    }

    /// Brands of still images (ISO/IEC 23008-12, AVIF).
    private static let brands: Set<String> = [
        "heic", "heix", "heim", "heis", "mif1", "avif",
    ]
}
