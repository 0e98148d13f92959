import Engine
import SystemCalls

/// Converts file names to and from rclone's form: text in which a control character is written as its
/// picture (`␊`), however the remote stores it.
enum RcloneName {
    private static let pictures: UInt32 = 0x2400
    private static let picturesEnd: UInt32 = 0x2420
    private static let deletePicture: UInt32 = 0x2421
    private static let delete: UInt32 = 0x7F

    /// - Returns: nil for a name that rclone cannot store, or that Apus hides.
    static func encode(_ name: FileName) -> String? {
        guard let text = String(validating: name.bytes, as: UTF8.self),
            !RcloneHidden.isHidden(text),
            // A picture would be listed as the character that it stands for.
            !text.unicodeScalars.contains(where: { picture(of: $0) != nil })
        else { return nil }
        return mapped(text) { value in
            value < 0x20 ? pictures + value : value == delete ? deletePicture : value
        }
    }

    /// - Returns: nil for a hidden name, or one that is not a file name.
    static func decode(_ text: String) -> FileName? {
        guard !RcloneHidden.isHidden(text) else { return nil }
        return FileName(
            mapped(text) { value in
                Unicode.Scalar(value).flatMap(picture) ?? value
            })
    }

    /// The backslash and the pictures of control characters in a name, each once.
    static func oddCharacters(of text: String) -> String {
        let odd = Set(text.unicodeScalars.filter { $0 == "\\" || picture(of: $0) != nil })
        return String(String.UnicodeScalarView(odd.sorted()))
    }

    /// The control character that a picture stands for.
    private static func picture(of scalar: Unicode.Scalar) -> UInt32? {
        switch scalar.value {
        case pictures..<picturesEnd: scalar.value - pictures
        case deletePicture: delete
        default: nil
        }
    }

    private static func mapped(_ text: String, _ map: (UInt32) -> UInt32) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            result.append(Unicode.Scalar(map(scalar.value)) ?? scalar)
        }
        return String(result)
    }
}

/// Names that Apus uses itself on the remote, and never shows.
enum RcloneHidden {
    /// rclone appends eight digits and this to a name while it uploads the file.
    static let partSuffix = ".apus-part"
    /// Marks a directory on a remote where no directory exists without a file in it.
    static let marker = ".apus-directory"
    private static let stagedPrefix = ".apus-upload-"
    private static let probePrefix = ".apus-probe-"
    /// A name that no file has.
    static let absent = probePrefix + "0000000000000000"

    /// Returns a name for a file that is renamed once it is complete.
    static func stagedName() -> String { stagedPrefix + Hexadecimal.nonce() }

    /// Returns a name for a file that tests the remote; more may follow it.
    static func probeName() -> String { probePrefix + Hexadecimal.nonce() }

    private static func isProbe(_ name: String) -> Bool {
        name.hasPrefix(probePrefix)
            && Hexadecimal.isNonce(name.dropFirst(probePrefix.count).utf8.prefix(16))
    }

    /// Whether it is a ``stagedName()``.
    static func isStaged(_ name: String) -> Bool {
        name.hasPrefix(stagedPrefix)
            && Hexadecimal.isNonce(name.dropFirst(stagedPrefix.count).utf8)
    }

    static func isHidden(_ name: String) -> Bool {
        if name == marker || isStaged(name) || isProbe(name) { return true }
        guard name.hasSuffix(partSuffix) else { return false }
        let stem = name.dropLast(partSuffix.count)
        return stem.suffix(8).count == 8 && stem.suffix(8).allSatisfy(\.isHexDigit)
            && stem.dropLast(8).last == "."
    }
}
