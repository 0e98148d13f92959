import Foundation
import Simulation

/// How much the tests of parsers try. `FUZZ_CASES` is how many answers each of them makes of good ones,
/// `FUZZ_SEED` where they begin: `FUZZ_CASES=1000000 FUZZ_SEED=7 swift test --filter Fuzz`.
enum Fuzz {
    private static let runs: UInt64 = 8

    /// A run each, so that a failure names its seed.
    static let seeds: [UInt64] = {
        let first = number("FUZZ_SEED") ?? 0
        return (0..<runs).map { first &+ $0 }
    }()

    /// How many answers a run makes.
    static let cases = Int(clamping: max(1, (number("FUZZ_CASES") ?? 4_000) / runs))

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}

/// Makes of a good answer what a broken or hostile server may send.
struct Mutator {
    /// What an answer is made of, so that whole parts of it are damaged too, not only bytes.
    struct Form {
        /// What stands before a value and after it.
        let value: (start: UInt8, end: UInt8)
        /// What stands before a part that may be doubled, moved or left out, and after it.
        let part: (start: UInt8, end: UInt8)
        /// What may stand where a value is.
        let hostile: [[UInt8]]
    }

    private static let numbers = [
        "0", "-0", "-1", "00000000000000000000001", "255", "256", "65536", "2147483648",
        "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "18446744073709551615", "18446744073709551616", "1e400", "NaN", "0x7f", "\u{664}\u{665}",
        String(repeating: "9", count: 400),
    ].map { Array($0.utf8) }

    /// No UTF-8: alone, cut short, too long, a surrogate, beyond the last; and what is no text.
    private static let bytes: [[UInt8]] = [
        [0xFF], [0x80], [0xC3], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80],
        [0xF4, 0x90, 0x80, 0x80], [0xFE, 0xFF], [0xEF, 0xBB, 0xBF], [0], [0x1B], [0x7F],
        [0x0D, 0x0A],
    ]

    private let form: Form
    private var random: SeededGenerator

    init(_ form: Form, seed: UInt64) {
        self.form = form
        random = SeededGenerator(seed: seed)
    }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    /// One of `originals` with one to five things done to it.
    ///
    /// - Returns: Also which one it was made of.
    mutating func next(from originals: [[UInt8]]) -> (index: Int, bytes: [UInt8]) {
        let index = below(originals.count)
        var bytes = originals[index]
        for _ in 0...below(5) { damage(&bytes, originals) }
        return (index, bytes)
    }

    /// In what pieces an answer arrives.
    mutating func pieceBytes(of count: Int) -> Int { 1 + below(max(1, count)) }

    private mutating func damage(_ bytes: inout [UInt8], _ originals: [[UInt8]]) {
        guard !bytes.isEmpty else { return }
        let place = below(bytes.count)
        let stretch = place..<min(bytes.count, place + 1 + below(60))
        switch below(12) {
        case 0: bytes[place] ^= 1 << UInt8(below(8))
        case 1: bytes[place] = UInt8(below(256))
        case 2: bytes.removeSubrange(stretch)
        case 3: bytes.removeSubrange(place...)
        case 4: bytes.insert(contentsOf: bytes[stretch], at: place)
        case 5: bytes.insert(contentsOf: pick(Self.bytes), at: place)
        case 6: replaceNumber(&bytes, from: place)
        case 7:
            let other = pick(originals)
            bytes.replaceSubrange(place..., with: other[below(other.count)...])
        case 8, 9:
            guard let part = part(of: bytes, from: place) else { return }
            let copies = below(2) == 1 ? 1 : 1 + below(40)
            let copy = Array(bytes[part])
            for _ in 0..<copies { bytes.insert(contentsOf: copy, at: part.lowerBound) }
        default: replaceValue(&bytes, from: place)
        }
    }

    private mutating func pick(_ choices: [[UInt8]]) -> [UInt8] {
        choices[below(choices.count)]
    }

    private mutating func replaceNumber(_ bytes: inout [UInt8], from place: Int) {
        let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        guard let start = bytes[place...].firstIndex(where: isDigit) else { return }
        let end = bytes[start...].firstIndex { !isDigit($0) } ?? bytes.count
        bytes.replaceSubrange(start..<end, with: pick(Self.numbers))
    }

    private mutating func replaceValue(_ bytes: inout [UInt8], from place: Int) {
        guard let start = bytes[place...].firstIndex(of: form.value.start) else { return }
        let end = bytes[(start + 1)...].firstIndex(of: form.value.end) ?? bytes.count
        bytes.replaceSubrange((start + 1)..<end, with: pick(form.hostile))
    }

    /// From the next beginning of a part to the end of that or of a later one.
    private mutating func part(of bytes: [UInt8], from place: Int) -> Range<Int>? {
        guard let start = bytes[place...].firstIndex(of: form.part.start) else { return nil }
        var end = start
        for _ in 0...below(12) {
            guard let next = bytes[end...].firstIndex(of: form.part.end) else { break }
            end = next + 1
        }
        return end > start ? start..<end : nil
    }
}

extension Mutator.Form {
    /// Elements and their texts.
    static let xml = Self(
        value: (UInt8(ascii: ">"), UInt8(ascii: "<")), part: (UInt8(ascii: "<"), UInt8(ascii: ">")),
        hostile: [
            "", " ", "/", "..", "/dav/..", "/dav/%2e%2e", "/dav/a/../../b", "/dav/%2Fetc",
            "/dav/%00",
            "/dav/a%2Fb", "/dav/./a", "//", "file:///etc/passwd", "http://other/dav/x", "/dav/%zz",
            "/dav/%", "p/..", "p/../x", "p//", "p/%00", "%2F", "%", "&amp;", "&#0;", "&#x0;",
            "&#xD800;", "&#x110000;", "&#47;", "&a;", "&lt;x&gt;", "<![CDATA[", "<![CDATA[]]>",
            "]]>",
            "<!--", "<!-- -- -->", "<?x ?>", "<a:b/>", "<a xmlns=''/>",
            "<response xmlns='DAV:'><href>/dav/x</href>",
            "<D:href xmlns:D='DAV:'>/dav/y</D:href>",
            "<Contents><Key>p/k</Key><Size>1</Size></Contents>",
            "<CommonPrefixes><Prefix>p/k/</Prefix></CommonPrefixes>",
            "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>&b;",
            "<!DOCTYPE x SYSTEM \"file:///etc/passwd\">",
            "<!ENTITY a SYSTEM \"file:///etc/passwd\">",
            "Sat, 21 Nov 9999 08:09:57 GMT", "Sun, 01 Jan 1600 00:00:00 GMT", "Thu, 99 Foo 0 99:99",
            "0000-00-00T00:00:00Z", "9999-99-99T99:99:99.999999999999Z", "1500-01-01T00:00:00Z",
            "mode=777777 modified=-99999999999.000000000 of=%225-6%22 target=%00",
            "mode=644 modified=-9223372036854775808.000000001 of=%225-6%22 target=%2F..%2Fx",
            "modified=9223372036854775807.999999999 xattr=user.a:%FF xattr=user.:x xattr=trusted.a:b",
            "HTTP/1.1 99999999999999999999 OK", "HTTP/1.1 -1", "HTTP/1.1",
            String(repeating: "<a>", count: 200), String(repeating: "<D:prop>", count: 70),
            String(repeating: "x", count: 70_000), "/dav/" + String(repeating: "y", count: 256),
            "p/" + String(repeating: "y", count: 1_100), String(repeating: "/dav", count: 3_000),
            "<a " + String(repeating: "b='c' ", count: 500) + "/>",
            "<\(String(repeating: "n", count: 60_000))/>",
        ].map { Array($0.utf8) })

    /// Lines of a name and a value.
    static let headers = Self(
        value: (UInt8(ascii: ":"), 0x0D), part: (0x0A, 0x0A),
        hostile: [
            "", " ", ":", ",", ";", "*", "W/", "W/\"", "\"", "\"\"", "W/\"\u{e9}\"", "\"a\"b\"",
            "bytes", "bytes 0-", "bytes -1-5/10", "bytes 5-4/10", "bytes 0-9/*", "bytes 0-9/5",
            "bytes 0-18446744073709551615/*", "bytes 18446744073709551614-18446744073709551615/*",
            "bytes 9223372036854775807-9223372036854775808/9223372036854775809", "bytes */100",
            "Sun, 01 Jan 1600 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970",
            "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "999999999999999999999999",
            "-99999999999.999999999", "-9223372036854775808", "9223372036854775807.9999999999",
            "41471", "4294967295", "eyJ1c2VyLmEiOiJZUT09In0=", "%7B%22user.a%22%3A%22%22%7D", "{}",
            "[",
            "application/x-directory; mode=99999999999; mtime=-9999999999999; xattr=%",
            "application/x-directory;;; =", "%00", "%2e%2e%2f", "%",
            "1, 2, <http://apache.org/dav/",
            "nextcloud-, oc-resource-sharing,,,", "\r\n folded", "\r\n\tfolded\r\n more",
            "\r\n\r\n",
            "\r\nHTTP/1.1 200 OK", "\rx: y", "\nx: y", String(repeating: "x", count: 140_000),
            String(repeating: ",", count: 5_000), String(repeating: "\r\na: b", count: 300),
        ].map { Array($0.utf8) })

    /// Values after a colon.
    static let json = Self(
        value: (UInt8(ascii: ":"), UInt8(ascii: ",")), part: (UInt8(ascii: "{"), UInt8(ascii: "}")),
        hostile: [
            "null", "true", "[]", "{}", "-1", "1e400", "-0.5", "9223372036854775808",
            "-9223372036854775808", "18446744073709551616", "\"\"", "\"/\"", "\"..\"", "\"a/../b\"",
            "\"\\u0000\"", "\"\\ud800\"", "\"\\u2400\"", "\"0000-00-00T00:00:00Z\"",
            "\"0001-01-01T00:00:00Z\"",
            "\"9999-99-99T99:99:99.9999999999999999999+99:99\"", "\"-999-+1--1T-1:+1:-1-\"",
            "\"" + String(repeating: "x", count: 5_000) + "\"",
            String(repeating: "[", count: 100_000), String(repeating: "{\"a\":", count: 20_000),
        ].map { Array($0.utf8) })
}
