package import FoundationEssentials

extension ListItem {
    /// The width of `uploading 100 %` and `partial, pinned`.
    private static let stateWidth = 15
    /// The width of `1023 MiB` and the like.
    private static let sizeWidth = 9

    /// Returns a line with the state and the name, without a line end.
    ///
    /// - Parameters:
    ///   - name: The name to be shown, by default the last one of the path.
    ///   - isLong: Whether to add size and modification time.
    ///   - timeZone: That of the time.
    package func line(
        name: String? = nil, isLong: Bool, timeZone: TimeZone = .current
    ) -> String {
        let name = name ?? path.split(separator: "/").last.map(String.init) ?? path
        let end = kind == .directory && !name.hasSuffix("/") ? "/" : ""
        let columns =
            [stateText.filled(to: Self.stateWidth)]
            + (isLong ? [sizeText, time(in: timeZone)] : [])
        return (columns + [name.shellEscaped + end]).joined(separator: "  ")
    }

    private var stateText: String {
        if let percent { return "\(state.rawValue) \(percent) %" }
        guard pin != nil else { return state.rawValue }
        // All bytes of it are here, and stay.
        return state == .local ? "pinned" : "\(state.rawValue), pinned"
    }

    private var sizeText: String {
        let text = kind == .directory ? "-" : HumanSize.format(bytes)
        return String(repeating: " ", count: max(0, Self.sizeWidth - text.count)) + text
    }

    private func time(in timeZone: TimeZone) -> String {
        modified.formatted(
            Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: timeZone)
                .year().month().day().dateTimeSeparator(.space).time(
                    includingFractionalSeconds: false))
    }
}

extension String {
    func filled(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// A name with control characters as `ls` shows it on a terminal, in the form that shells read:
    /// `'a'$'\\n''b'`; any other name as it is.
    package var shellEscaped: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var text = ""
        var rest = unicodeScalars[...]
        while let first = rest.first {
            let run = rest.prefix { $0.isControl == first.isControl }
            rest = rest.dropFirst(run.count)
            text +=
                first.isControl
                ? "$'" + String(run).utf8.map(\.escape).joined() + "'"
                : "'" + String(run).replacing("'", with: "'\\''") + "'"
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}

extension UInt8 {
    fileprivate var escape: String {
        switch self {
        case 0x09: "\\t"
        case 0x0A: "\\n"
        case 0x0D: "\\r"
        default:
            "\\" + String(repeating: "0", count: 3 - String(self, radix: 8).count)
                + String(self, radix: 8)
        }
    }
}
