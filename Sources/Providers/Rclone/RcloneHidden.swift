import Engine

/// Names that Apus uses itself on the remote, and never shows.
enum RcloneHidden {
    /// rclone appends eight digits and this to a name while it uploads the file.
    static let partSuffix = ".apus-part"
    /// Marks a directory on a remote where no directory exists without a file in it.
    static let marker = ".apus-directory"
    private static let stagedPrefix = ".apus-upload-"
    private static let probePrefix = ".apus-probe-"

    /// Returns a name for a file that is renamed once it is complete.
    static func stagedName() -> String {
        stagedPrefix + hexadecimal(UInt64.random(in: 0 ... .max), digits: 16)
    }

    /// Returns a name for a file that tests the remote; more may follow it.
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
