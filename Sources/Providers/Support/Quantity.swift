/// Parses sizes and times written as a number and a unit: `20ms`, `1.5s`, `10MiB`.
///
/// The number is decimal, with at most one point; the unit follows immediately or after blanks, in
/// any case. Negative numbers are invalid; only 0 needs no unit.
package enum Quantity {
    /// Parses a size: `B`; `K`, `M`, `G`, `T` and `KiB` to `TiB` by 1024; `KB` to `TB` by 1000.
    ///
    /// - Returns: Bytes, rounded down.
    package static func bytes(_ text: String) throws(QuantityError) -> UInt64 {
        let units: [(String, Double)] = [
            ("b", 1),
            ("k", 1_024), ("kib", 1_024), ("kb", 1e3),
            ("m", 1_048_576), ("mib", 1_048_576), ("mb", 1e6),
            ("g", 1_073_741_824), ("gib", 1_073_741_824), ("gb", 1e9),
            ("t", 1_099_511_627_776), ("tib", 1_099_511_627_776), ("tb", 1e12),
        ]
        let value = try number(text, units: units, example: "512K, 10MiB or 1.5GB")
        guard let bytes = UInt64(exactly: value.rounded(.down)) else {
            throw QuantityError(text: text, expected: "less than 16 million TiB")
        }
        return bytes
    }

    /// Parses a time: `us`, `ms`, `s`, `m` or `min`, `h`, `d`.
    package static func duration(_ text: String) throws(QuantityError) -> Duration {
        let units: [(String, Double)] = [
            ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1), ("m", 60), ("min", 60),
            ("h", 3_600), ("d", 86_400),
        ]
        let value = try number(text, units: units, example: "20ms, 1.5s or 2m")
        guard value < 1e12 else {
            throw QuantityError(text: text, expected: "less than 30,000 years")
        }
        return .seconds(value)
    }

    private static func number(
        _ text: String, units: [(String, Double)], example: String
    ) throws(QuantityError) -> Double {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        let isNumber = digits.first?.isNumber == true && digits.last?.isNumber == true
        let factor = units.first { $0.0 == unit }?.1
        guard isNumber, let number = Double(digits), factor != nil || unit.isEmpty && number == 0
        else {
            throw QuantityError(text: text, expected: "a number and a unit, such as \(example)")
        }
        return number * (factor ?? 1)
    }
}

/// A size or time that cannot be parsed.
package struct QuantityError: Error, Hashable, CustomStringConvertible {
    package let text: String
    /// `a number and a unit, such as 20ms, 1.5s or 2m`.
    package let expected: String

    package init(text: String, expected: String) {
        self.text = text
        self.expected = expected
    }

    package var description: String { "\"\(text)\" is not \(expected)" }
}
