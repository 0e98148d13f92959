import Engine
import SystemCalls

/// Names that Apus uses itself on the remote, and never shows.
enum RcloneHidden {
    /// rclone appends eight digits and this to a name while it uploads the file.
    static let partSuffix = ".apus-part"
    /// Marks a directory on a remote where no directory exists without a file in it.
    static let marker = ".apus-directory"
    private static let stagedPrefix = ".apus-upload-"
    private static let probePrefix = ".apus-probe-"

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
