import Engine

/// Reads and writes times in rclone's form: RFC 3339 with up to nine digits of a second.
enum RcloneTime {
    /// - Returns: nil for invalid text.
    static func parse(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int64? {
            guard range.upperBound <= bytes.count else { return nil }
            return Int64(String(decoding: bytes[range], as: UTF8.self))
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
        else { return nil }
        var place = 19
        var nanoseconds: Int64 = 0
        if place < bytes.count, bytes[place] == UInt8(ascii: ".") {
            let digits = bytes[(place + 1)...].prefix { (0x30...0x39).contains($0) }
            place += 1 + digits.count
            let nine = digits.prefix(9) + Array(repeating: 0x30, count: max(0, 9 - digits.count))
            nanoseconds = Int64(String(decoding: nine, as: UTF8.self)) ?? 0
        }
        guard place < bytes.count else { return nil }
        var offset: Int64 = 0
        if bytes[place] != UInt8(ascii: "Z") {
            guard let hours = number(place + 1..<place + 3),
                let minutes = number(place + 4..<place + 6)
            else { return nil }
            offset = (hours * 60 + minutes) * 60 * (bytes[place] == UInt8(ascii: "-") ? -1 : 1)
        }
        let days = days(year: year, month: month, day: day)
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// Formats a time for `rclone touch --timestamp`, in UTC.
    static func format(_ time: Timestamp) -> String {
        let (days, second) = floored(time.seconds, by: 86_400)
        let (year, month, day) = date(days: days)
        let clock = [second / 3_600, second / 60 % 60, second % 60].map { padded($0, 2) }
        let fraction = padded(time.nanosecondsOfSecond, 9)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + clock.joined(separator: ":") + ".\(fraction)"
    }

    // MARK: The calendar, in eras of 400 years that begin in March

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = floored(month <= 2 ? year - 1 : year, by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    private static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, day) = floored(days + 719_468, by: 146_097)
        let yearOfEra = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
        return (year, month >= 10 ? month - 9 : month + 3, dayOfYear - (153 * month + 2) / 5 + 1)
    }

    private static func floored(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let rest = (value % divisor + divisor) % divisor
        return ((value - rest) / divisor, rest)
    }

    private static func padded(_ value: Int64, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
