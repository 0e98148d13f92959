package import Engine
import Glibc
import Transport

extension Timestamp {
    /// Parses `2009-10-12T17:50:30.25+02:00` (RFC 3339), in UTC if it names no zone.
    package init?(rfc3339 text: some StringProtocol) {
        let bytes = Array(text.utf8)
        func number(_ start: Int, _ count: Int) -> Int? {
            let digits = bytes.dropFirst(start).prefix(count)
            guard digits.count == count, digits.allSatisfy(Self.isDigit) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2),
            let hour = number(11, 2), let minute = number(14, 2), let second = number(17, 2),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            "T ".utf8.contains(bytes[10]), (1...12).contains(month), (1...31).contains(day),
            hour < 25, minute < 60, second < 61
        else { return nil }
        var fields = tm()
        fields.tm_year = Int32(year - 1_900)
        fields.tm_mon = Int32(month - 1)
        fields.tm_mday = Int32(day)
        var seconds = Int64(timegm(&fields) + (hour * 60 + minute) * 60 + second)
        var zone = bytes[19...]
        var fraction = bytes[..<0]
        if zone.first == UInt8(ascii: ".") {
            fraction = zone.dropFirst().prefix(while: Self.isDigit)
            zone = zone.dropFirst(1 + fraction.count)
        }
        if let sign = zone.first, "+-".utf8.contains(sign) {
            guard let hours = number(zone.startIndex + 1, 2),
                let minutes = number(zone.startIndex + 4, 2)
            else { return nil }
            seconds += Int64(hours * 3_600 + minutes * 60) * (sign == UInt8(ascii: "-") ? 1 : -1)
        }
        self.init(seconds: seconds, nanoseconds: Self.nanoseconds(fraction: fraction))
    }

    /// Parses the date of an HTTP header.
    package init?(httpDate text: String) {
        guard let seconds = HTTPDate.seconds(text) else { return nil }
        self.init(seconds: seconds)
    }

    /// Formats the time in UTC, without its fraction; see strftime(3).
    package func utc(_ format: String) -> String {
        var seconds = time_t(seconds)
        var fields = tm()
        gmtime_r(&seconds, &fields)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            let count = strftime(text.baseAddress, text.count, format, &fields)
            return String(decoding: UnsafeRawBufferPointer(text).prefix(count), as: UTF8.self)
        }
    }

    /// The time in UTC with nine fractional digits; without a zone, as `rclone touch` expects it.
    package var rfc3339: String { utc("%Y-%m-%dT%H:%M:%S.") + fractionDigits }

    /// The fraction of a second as nine digits.
    package var fractionDigits: Substring {
        String(1_000_000_000 + nanosecondsOfSecond).dropFirst()
    }

    /// - Parameter digits: Those after the point; further ones than the ninth are dropped.
    package static func nanoseconds(fraction digits: some Collection<UInt8>) -> Int64 {
        let known = digits.prefix(9)
        let value = known.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        return (known.count..<9).reduce(value) { value, _ in value * 10 }
    }

    package static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
