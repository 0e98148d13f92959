import Engine

/// Names that are there for our own purposes, and that nobody is shown.
enum RcloneHidden {
    /// rclone puts eight digits and this behind a name while it uploads the file.
    static let partSuffix = ".apus-part"
    /// Marks a directory where the remote has none without a file in them.
    static let marker = ".apus-directory"
    private static let stagedPrefix = ".apus-upload-"
    private static let probePrefix = ".apus-probe-"

    /// A name for a file that is to get its own once it is whole.
    static func stagedName() -> String {
        stagedPrefix + hexadecimal(UInt64.random(in: 0 ... .max), digits: 16)
    }

    /// A name for a file with which a remote is tried out; more may follow it.
    static func probeName() -> String {
        probePrefix + hexadecimal(UInt64.random(in: 0 ... .max), digits: 16)
    }

    private static func isProbe(_ name: String) -> Bool {
        let digits = name.dropFirst(probePrefix.count).prefix(16)
        return name.hasPrefix(probePrefix) && digits.count == 16
            && digits.allSatisfy(\.isHexDigit)
    }

    /// Whether it is a ``stagedName()``.
    static func isStaged(_ name: String) -> Bool {
        let rest = name.dropFirst(stagedPrefix.count)
        return name.hasPrefix(stagedPrefix) && rest.count == 16 && rest.allSatisfy(\.isHexDigit)
    }

    static func isHidden(_ name: String) -> Bool {
        if name == marker || isStaged(name) || isProbe(name) { return true }
        guard name.hasSuffix(partSuffix) else { return false }
        let stem = name.dropLast(partSuffix.count)
        return stem.suffix(8).count == 8 && stem.suffix(8).allSatisfy(\.isHexDigit)
            && stem.dropLast(8).last == "."
    }

    private static func hexadecimal(_ value: UInt64, digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }
}
