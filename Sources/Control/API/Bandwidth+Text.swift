package import Transport

extension Bandwidth {
    /// Reads `UP:DOWN`, in which a missing direction is not limited, or `off`.
    ///
    /// - Throws: ``BandwidthError``.
    package init(parsing text: String) throws(BandwidthError) {
        guard text != "off" else {
            self = .unlimited
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, text != ":" else {
            throw BandwidthError(
                "\"\(text)\" is not a bandwidth; write UP:DOWN as in 1MiB:10MiB, :2MiB for downloads "
                    + "only, 1MiB: for uploads only, or off")
        }
        self.init(up: try Self.limit(parts[0]), down: try Self.limit(parts[1]))
    }

    private static func limit(_ text: Substring) throws(BandwidthError) -> UInt64? {
        if text.isEmpty || text == "off" { return nil }
        guard let bytes = HumanSize.parse(String(text)) else {
            throw BandwidthError("\"\(text)\" is not a size; write it like 500KiB or 10MiB")
        }
        try check(bytes)
        return bytes
    }

    /// - Throws: For a limit of any direction that is too low.
    package func checked() throws(BandwidthError) -> Bandwidth {
        for limit in [up, down] {
            if let limit { try Self.check(limit) }
        }
        return self
    }

    private static func check(_ bytes: UInt64) throws(BandwidthError) {
        guard bytes >= bytesPerSecondMin else {
            throw BandwidthError(
                "\(HumanSize.format(bytes)) a second is too little; give at least "
                    + "\(HumanSize.format(bytesPerSecondMin)), or off for no limit")
        }
    }

    /// In the form of ``init(parsing:)``, with exact numbers.
    package var text: String {
        if self == .unlimited { return "off" }
        return [up, down].map { $0.map { "\($0)" } ?? "" }.joined(separator: ":")
    }

    /// `at most 1.0 MiB/s up and 10 MiB/s down`.
    package var phrase: String {
        let limits = [(up, "up"), (down, "down")].compactMap { limit, direction in
            limit.map { "\(HumanSize.format($0))/s \(direction)" }
        }
        return limits.isEmpty ? "not limited" : "at most \(limits.joined(separator: " and "))"
    }
}

/// The reason why a text is not a bandwidth.
package struct BandwidthError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
