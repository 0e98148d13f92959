import Engine
import Transport

/// Reads and writes times in S3's formats.
enum S3Date {
    /// `20130524T000000Z`, for signatures.
    static func basic(_ time: Timestamp) -> String {
        let (date, second) = split(time)
        let (year, month, day) = civil(date)
        return pad(year, 4) + pad(month, 2) + pad(day, 2) + "T" + pad(second / 3600, 2)
            + pad(second / 60 % 60, 2) + pad(second % 60, 2) + "Z"
    }

    /// Parses `2009-10-12T17:50:30.000Z`, as in listings and credentials, with fractions. Another zone
    /// is written as `+02:00`; without one it is UTC.
    static func timestamp(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 19, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T") || bytes[10] == 0x20,
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1...12).contains(month), (1...31).contains(day), hour < 25, minute < 60, second < 61
        else { return nil }
        var nanoseconds: Int64 = 0
        if bytes.count > 20, bytes[19] == UInt8(ascii: ".") {
            let digits = bytes[20...].prefix { (0x30...0x39).contains($0) }.prefix(9)
            nanoseconds = digits.isEmpty ? 0 : number(digits) ?? 0
            for _ in digits.count..<9 { nanoseconds *= 10 }
        }
        let days = days(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second
        return Timestamp(seconds: seconds - zone(bytes[19...]), nanoseconds: nanoseconds)
    }

    /// The offset from UTC at the end of a text, in seconds.
    private static func zone(_ text: ArraySlice<UInt8>) -> Int64 {
        let end = Array(text.suffix(6))
        guard end.count == 6, end[0] == UInt8(ascii: "+") || end[0] == UInt8(ascii: "-"),
            end[3] == UInt8(ascii: ":"), let hour = number(end[1..<3]),
            let minute = number(end[4..<6])
        else { return 0 }
        return (end[0] == UInt8(ascii: "-") ? -1 : 1) * (hour * 3_600 + minute * 60)
    }

    /// Parses the form of HTTP's headers.
    static func timestamp(header text: String) -> Timestamp? {
        HTTPDate.seconds(text).map { Timestamp(seconds: $0) }
    }

    private static func split(_ time: Timestamp) -> (day: Int64, second: Int64) {
        let day = Int64((Double(time.seconds) / 86_400).rounded(.down))
        return (day, time.seconds - day * 86_400)
    }

    /// The Gregorian calendar, in eras of 400 years that begin on the 1st of March.
    private static func civil(_ day: Int64) -> (Int64, Int64, Int64) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * ofYear + 2) / 153
        let calendarMonth = month < 10 ? month + 3 : month - 9
        let year = yearOfEra + era * 400 + (calendarMonth <= 2 ? 1 : 0)
        return (year, calendarMonth, ofYear - (153 * month + 2) / 5 + 1)
    }

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let ofEra = year - era * 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    private static func pad(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
