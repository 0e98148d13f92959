/// The content after a change that was not acknowledged because the process died or the disk
/// failed. POSIX guarantees nothing about such a write, so any part of it may be present.
enum Mixture {
    /// Whether each byte is that of one of several contents, or a zero beyond the end of one.
    static func isMixture(
        _ bytes: [UInt8], of contents: [some RandomAccessCollection<UInt8>]
    ) -> Bool {
        guard contents.count > 1 else { return false }
        return bytes.enumerated().allSatisfy { offset, byte in
            contents.contains { content in
                offset < content.count
                    ? content[content.index(content.startIndex, offsetBy: offset)] == byte
                    : byte == 0
            }
        }
    }

    /// Whether it is a mixture, and as long as one of the contents.
    static func isWholeMixture(_ bytes: [UInt8], of contents: [[UInt8]]) -> Bool {
        contents.contains { $0.count == bytes.count } && isMixture(bytes, of: contents)
    }
}
