import FoundationEssentials

/// Numbers of bytes in human-readable form: `0 B`, `999 B`, `1.5 MiB`, `20GiB`.
package enum HumanSize {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// Formats with at most three digits; each unit is 1024 of the previous one.
    package static func format(_ bytes: UInt64) -> String {
        var value = Double(bytes)
        var unit = 0
        // 1023.5 would be rounded to 1024 of the smaller unit.
        while value >= 1023.5, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        if unit == 0 { return "\(bytes) B" }
        // From 99.95 on, tenths would make a fourth digit.
        if value < 99.95 {
            let tenths = Int((value * 10).rounded())
            return "\(tenths / 10).\(tenths % 10) \(units[unit])"
        }
        return "\(Int(value.rounded())) \(units[unit])"
    }

    /// Parses a number with an optional unit: `B`, `K`, `KB` and `KiB` all count in 1024s, in any
    /// case, with or without a space and a fraction.
    ///
    /// - Returns: nil for anything else, and for numbers beyond 64 bits.
    package static func parse(_ text: String) -> UInt64? {
        let trimmed = text.filter { $0 != " " }
        let digits = trimmed.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let number = Double(digits), let power = power(of: trimmed.dropFirst(digits.count))
        else { return nil }
        var bytes = number
        for _ in 0..<power { bytes *= 1024 }
        guard bytes < 0x1p64 else { return nil }
        return UInt64(bytes)
    }

    private static func power(of unit: Substring) -> Int? {
        let unit = unit.lowercased()
        if unit.isEmpty || unit == "b" { return 0 }
        return units.indices.dropFirst().first { index in
            let name = units[index].lowercased()
            return unit == name || unit == String(name.prefix(1))
                || unit == "\(name.prefix(1))b"
        }
    }
}
