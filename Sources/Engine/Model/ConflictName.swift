/// The name of a version that lost its own: `name (conflict HOST YYYY-MM-DD).ext`.
enum ConflictName {
    /// - Parameter attempt: 0 first; counts up where the name is taken.
    static func make(
        of name: FileName, host: String, at time: Timestamp, attempt: Int
    ) -> FileName {
        let (whole, suffix) = split(name.bytes)
        let stem = withoutLabel(whole)
        let number = attempt == 0 ? "" : " \(attempt + 1)"
        let label = Array(" (conflict \(safe(host)) \(date(time))\(number))".utf8)
        let room = FileName.bytesMax - label.count - suffix.count
        return FileName(stored: truncated(stem, to: max(room, 1)) + label + suffix)
    }

    /// Takes off what names a conflict, from whichever mount: a version that loses such a name too gets
    /// another of the first one's, not a longer one.
    private static func withoutLabel(_ stem: [UInt8]) -> [UInt8] {
        let text = String(decoding: stem, as: UTF8.self)
        guard Array(text.utf8) == stem,
            let label = text.firstMatch(of: /(?: \(conflict [^()]+ \d{4}-\d\d-\d\d(?: \d+)?\))+$/),
            label.range.lowerBound > text.startIndex
        else { return stem }
        return Array(text[..<label.range.lowerBound].utf8)
    }

    /// Splits off an extension of up to 16 bytes; a leading dot begins no extension.
    private static func split(_ bytes: [UInt8]) -> (stem: [UInt8], suffix: [UInt8]) {
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0, bytes.count - dot <= 17
        else { return (bytes, []) }
        return (Array(bytes[..<dot]), Array(bytes[dot...]))
    }

    /// Cuts at a character's beginning where the bytes are UTF-8.
    private static func truncated(_ bytes: [UInt8], to count: Int) -> [UInt8] {
        guard bytes.count > count else { return bytes }
        var end = count
        while end > 1, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(bytes[..<end])
    }

    private static func safe(_ host: String) -> String {
        String(host.prefix(32).map { $0 == "/" || $0 == "\0" ? "_" : $0 })
    }

    /// The day in UTC, by the civil calendar.
    private static func date(_ time: Timestamp) -> String {
        // Days since 0000-03-01, so that a leap day ends its year.
        let days = (time.seconds >= 0 ? time.seconds : time.seconds - 86_399) / 86_400 + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return "\(year)-\(padded(month))-\(padded(day))"
    }

    private static func padded(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}

extension FileName {
    /// Where an inode waits on the remote, in the root, for its own place to become free.
    ///
    /// Without a dot at its beginning: nginx shows no such names, which then pass for gone. Inodes
    /// of other mounts have the same numbers, and what those left there keeps its name.
    ///
    /// - Parameter salt: This mount's own, see ``Engine/identify()``.
    static func aside(_ inode: InodeNumber, salt: String) -> FileName {
        FileName(stored: Array("\(asidePrefix)\(inode)-\(salt)".utf8))
    }

    static var asidePrefix: String { "apus-moving-" }
}
