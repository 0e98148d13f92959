/// Durations in human-readable form: `30s`, `5m`, `2h`, `1d`.
package enum HumanDuration {
    private static let secondsPerUnit = [
        "ms": 0.001, "s": 1, "": 1, "m": 60, "h": 3600, "d": 86400,
    ]

    /// Parses a number with a unit, by default seconds.
    ///
    /// - Returns: nil for anything else.
    package static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let number = Double(digits),
            let unit = secondsPerUnit[String(text.dropFirst(digits.count))],
            number * unit < 1e9
        else { return nil }
        return .milliseconds(Int64((number * unit * 1000).rounded()))
    }

    /// The one or two largest units: `45 s`, `3 min`, `2 h 5 min`, `4 d 1 h`.
    package static func format(seconds: Double) -> String {
        let seconds = Int(max(0, seconds))
        let minutes = seconds / 60
        let hours = minutes / 60
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(minutes) min"
        case ..<86400: return "\(hours) h" + (minutes % 60 > 0 ? " \(minutes % 60) min" : "")
        default: return "\(hours / 24) d" + (hours % 24 > 0 ? " \(hours % 24) h" : "")
        }
    }
}
