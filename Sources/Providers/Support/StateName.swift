import SystemCalls

/// Names for a source's files on this machine.
package enum StateName {
    /// Returns at most 60 bytes: the kind, a recognisable part, and a hash of the source's identity
    /// within its kind.
    package static func make(
        kind: String, label: some Sequence<UInt8>, of identity: some Sequence<UInt8>
    ) -> String {
        let kept = label.prefix(32).map { byte -> Character in
            let character = Character(Unicode.Scalar(byte))
            let isSafe =
                byte < 0x80
                && (character.isLetter || character.isNumber || "-_.".contains(character))
            return isSafe ? character : "_"
        }
        return "\(kind)-\(String(kept))-\(hash(identity))"
    }

    /// FNV-1a with 64 bits: the same on every machine and in every version.
    private static func hash(_ bytes: some Sequence<UInt8>) -> String {
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        return Hexadecimal.encode(hash)
    }
}
