/// Names of mounts in configuration files.
enum MountName {
    /// systemd's names of units have at most 255 bytes.
    static let bytesMax = 64
    static let rule =
        "a name has at most \(bytesMax) letters, digits and -_. and begins with a letter or a digit"

    /// Whether a text is meant as a name, not as a source or a path.
    static func isName(_ text: String) -> Bool {
        guard let first = text.first else { return false }
        return !text.contains(":") && !text.contains("/") && first != "." && first != "~"
    }

    /// Whether a name can be used in commands, files and units without quotes.
    static func isValid(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= bytesMax else { return false }
        return isAlphanumeric(first)
            && name.utf8.allSatisfy { isAlphanumeric($0) || "-_.".utf8.contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
