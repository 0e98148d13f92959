import Foundation

/// The name of a version beside the one that has the name: `name (conflict HOST YYYY-MM-DD).ext`.
enum ConflictName {
    /// - Parameters:
    ///   - attempt: 0 at first; increased while the name is taken.
    ///   - isRestored: Whether it comes from the trash: `name (restored HOST YYYY-MM-DD).ext`.
    static func make(
        of name: FileName, host: String, at time: Timestamp, attempt: Int,
        isRestored: Bool = false
    ) -> FileName {
        let (whole, suffix) = split(name.bytes)
        let stem = withoutLabel(whole)
        let date = Date(timeIntervalSince1970: TimeInterval(time.seconds))
            .formatted(.iso8601.year().month().day())
        let number = attempt == 0 ? "" : " \(attempt + 1)"
        let word = isRestored ? "restored" : "conflict"
        let label = Array(" (\(word) \(safe(host)) \(date)\(number))".utf8)
        let room = FileName.bytesMax - label.count - suffix.count
        return FileName(stored: truncated(stem, to: max(room, 1)) + label + suffix)
    }

    /// Removes the label, whichever mount added it, so that a version that is displaced or restored
    /// again gets another label instead of a second one.
    private static func withoutLabel(_ stem: [UInt8]) -> [UInt8] {
        let text = String(decoding: stem, as: UTF8.self)
        guard Array(text.utf8) == stem,
            let label = text.firstMatch(
                of: /(?: \((?:conflict|restored) [^()]+ \d{4}-\d\d-\d\d(?: \d+)?\))+$/),
            label.range.lowerBound > text.startIndex
        else { return stem }
        return Array(text[..<label.range.lowerBound].utf8)
    }

    /// Splits off an extension of up to 16 bytes; a leading dot does not start an extension.
    private static func split(_ bytes: [UInt8]) -> (stem: [UInt8], suffix: [UInt8]) {
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0, bytes.count - dot <= 17
        else { return (bytes, []) }
        return (Array(bytes[..<dot]), Array(bytes[dot...]))
    }

    /// Truncates at a character boundary if the bytes are UTF-8.
    private static func truncated(_ bytes: [UInt8], to count: Int) -> [UInt8] {
        guard bytes.count > count else { return bytes }
        var end = count
        while end > 1, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(bytes[..<end])
    }

    private static func safe(_ host: String) -> String {
        String(host.prefix(32).map { $0 == "/" || $0 == "\0" ? "_" : $0 })
    }
}

extension FileName {
    /// The temporary name of an inode in the remote root, used until its own place is free.
    ///
    /// It does not begin with a dot, because nginx does not list such names, and they would be
    /// taken for deleted. Other mounts use the same inode numbers; the salt keeps the objects that
    /// they left there apart.
    ///
    /// - Parameter salt: Unique to this mount, see ``Engine/identify()``.
    static func aside(_ inode: InodeNumber, salt: String) -> FileName {
        FileName(stored: Array("\(asidePrefix)\(inode)-\(salt)".utf8))
    }

    static var asidePrefix: String { "apus-moving-" }
}
