/// The name of a conflict version: `name (conflict HOST YYYY-MM-DD).ext`.
enum ConflictName {
    /// - Parameter attempt: 0 at first; increased while the name is taken.
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

    /// Removes the conflict label, whichever mount added it, so that a conflict version that is
    /// displaced again gets another label instead of a second one.
    private static func withoutLabel(_ stem: [UInt8]) -> [UInt8] {
        let text = String(decoding: stem, as: UTF8.self)
        guard Array(text.utf8) == stem,
            let label = text.firstMatch(of: /(?: \(conflict [^()]+ \d{4}-\d\d-\d\d(?: \d+)?\))+$/),
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

    /// The UTC date in the civil calendar.
    private static func date(_ time: Timestamp) -> String {
        // Days since 0000-03-01, so that the leap day is the last day of its year.
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
