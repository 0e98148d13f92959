/// A file format that the filters can read and write back.
package enum ImageFormat: Hashable, Sendable, CaseIterable {
    case jpeg
    case png
    case webp
    case tiff
    /// HEIC and its sister AVIF.
    case heif

    /// How many bytes of a file's beginning tell its format.
    static let signatureBytes = 32

    /// Whether a name says that the file may be an image. Files with other names are not even
    /// opened: in a cloud folder, opening is what starts a download. Camera raw files (DNG, NEF,
    /// CR2, …) are TIFF inside, and are for this reason told apart by their names.
    static func isSuggested(byName name: [UInt8]) -> Bool {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        let ending = name[(dot + 1)...].map { (65...90).contains($0) ? $0 + 32 : $0 }
        return nameEndings.contains(String(decoding: ending, as: UTF8.self))
    }

    private static let nameEndings: Set<String> = [
        "jpg", "jpeg", "jpe", "jfif", "png", "webp", "tif", "tiff", "heic", "heif", "hif", "avif",
    ]

    /// The format that a file's first bytes show; nil where it is none of these.
    init?(signature bytes: some Collection<UInt8>) {
        let bytes = Array(bytes.prefix(Self.signatureBytes))
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: PNGFile.signature) {
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

    /// Brands of still images in ISO/IEC 23008-12 and AVIF.
    private static let brands: Set<String> = [
        "heic", "heix", "heim", "heis", "mif1", "avif",
    ]
}
