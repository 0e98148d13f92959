package import FoundationEssentials

/// The lines of a watch of mounts at one time: one or two for each mount, its transfers, and the items that
/// need attention.
package struct WatchFrame {
    package struct Mount: Sendable {
        package let mountPoint: String
        package var report: StatusReport?
        package var traffic = WatchedTraffic()
        /// Why there are no more reports.
        package var failure: String?

        package init(_ mountPoint: String) {
            self.mountPoint = mountPoint
        }
    }

    package struct Style: Hashable, Sendable {
        package var columns: Int
        package var rows: Int
        package var isColoured: Bool
        /// Whether the terminal shows characters beyond ASCII.
        package var isUnicode: Bool

        package init(columns: Int, rows: Int, isColoured: Bool, isUnicode: Bool) {
            self.columns = columns
            self.rows = rows
            self.isColoured = isColoured
            self.isUnicode = isUnicode
        }
    }

    private let mounts: [Mount]
    private let style: Style
    private let now: Date
    private let uptime: Duration

    /// With fewer columns, a mount takes two lines.
    private static let wideMin = 150
    private static let transfersMax = 5
    private static let barColumns = 16

    /// - Parameters:
    ///   - now: The time to which ages are relative.
    ///   - uptime: The time of the same moment, as of ``WatchedTraffic``.
    package init(_ mounts: [Mount], _ style: Style, now: Date, uptime: Duration) {
        self.mounts = mounts
        self.style = style
        self.now = now
        self.uptime = uptime
    }

    /// Returns at most one line less than the terminal has rows.
    package var lines: [String] {
        let all = mounts.flatMap(lines)
        let max = Swift.max(style.rows - 1, 2)
        guard all.count > max else { return all }
        let rest = StyledLine("  and \(all.count - max + 1) more lines", .muted)
        return all.prefix(max - 1) + [text(rest)]
    }

    private func lines(_ mount: Mount) -> [String] {
        guard let report = mount.report else {
            var line = StyledLine(mount.mountPoint)
            line.append("  \(mount.failure ?? "…")", mount.failure == nil ? .muted : .bad)
            return [text(line)]
        }
        var lines: [String] = []
        var details = details(mount, report, hasCacheBar: true)
        if details.width > style.columns - 3 {
            details = self.details(mount, report, hasCacheBar: false)
        }
        var head = head(mount, report, besides: details.width + 2)
        if head.width + 2 + details.width <= style.columns - 1 {
            head.append("  ")
            lines.append(text(head + details))
        } else {
            lines += [text(head), text(StyledLine("  ") + details)]
        }
        lines += transfers(report)
        lines += attention(report)
        return lines
    }

    private func text(_ line: StyledLine) -> String {
        // The last column stays empty, as some terminals would wrap.
        line.text(columns: style.columns - 1, isColoured: style.isColoured)
    }

    // MARK: The mount

    private func head(_ mount: Mount, _ report: StatusReport, besides width: Int) -> StyledLine {
        let (state, colour) = condition(mount, report)
        let isWide = style.columns >= Self.wideMin
        let room = style.columns - 1 - state.width - 2 - (isWide ? width : 0)
        let names = TextLine([.path(report.mountPoint), .words("  "), .path(report.source)])
            .fitted(to: max(room, 24))
        var line = StyledLine(names)
        line.append("  ")
        line.append(state, colour)
        return line
    }

    private func condition(
        _ mount: Mount, _ report: StatusReport
    ) -> (text: String, colour: StyledLine.Colour) {
        if let failure = mount.failure { return (failure, .bad) }
        return report.condition(now: now)
    }

    private func details(
        _ mount: Mount, _ report: StatusReport, hasCacheBar: Bool
    ) -> StyledLine {
        var line = StyledLine()
        let separator = style.isUnicode ? " · " : " | "
        if report.counts.remaining > 0, let fraction = mount.traffic.fraction {
            line.append(bar.text(fraction), .busy)
            line.append(" \(Int(fraction * 100)) % ")
        }
        line.append(pending(mount, report))
        let rates = [
            (style.isUnicode ? "↑" : "up", mount.traffic.sentPerSecond(at: uptime)),
            (style.isUnicode ? "↓" : "down", mount.traffic.receivedPerSecond(at: uptime)),
        ].filter { $0.1 >= 1 }
        for (arrow, rate) in rates {
            line.append("\(separator)\(arrow) \(HumanSize.format(UInt64(rate)))/s")
        }
        if let left = mount.traffic.timeLeft(at: uptime) {
            line.append("\(separator)\(HumanDuration.format(seconds: left.rounded(.up))) left")
        }
        line.append("\(separator)cache \(HumanSize.format(report.counts.localBytes))")
        if let bound = report.cacheBytesMax, bound > 0 {
            line.append(" of \(HumanSize.format(bound))")
            guard hasCacheBar else { return line }
            let fraction = Double(report.counts.localBytes) / Double(bound)
            line.append(
                " " + ProgressBar(columns: 8, isUnicode: style.isUnicode).text(fraction),
                fraction > 0.95 ? .wait : .muted)
        }
        return line
    }

    private var bar: ProgressBar {
        ProgressBar(
            columns: min(Self.barColumns, max(4, style.columns / 8)), isUnicode: style.isUnicode)
    }

    private func pending(_ mount: Mount, _ report: StatusReport) -> String {
        guard report.counts.remaining > 0 else {
            guard let open = report.counts.open, open > 0 else { return "nothing to send" }
            return "nothing to send, \(SyncProgress.stillOpen(open))"
        }
        let left = mount.traffic.bytesLeft
        return counted(report.counts.remaining, "change", "changes")
            + (left > 0 ? ", \(HumanSize.format(left))" : "") + " to send"
    }

    // MARK: Below it

    private func transfers(_ report: StatusReport) -> [String] {
        let under = report.items.filter { $0.urgency == .isUnderWay }
        let shown = under.prefix(Self.transfersMax).map { item in
            var line = StyledLine("  ")
            line.append(item.transferWord.filled(to: 12), .busy)
            line.append(bar.text(Double(item.percent) / 100), .busy)
            line.append(" \(item.percent) %".filled(to: 7))
            let room = style.columns - 1 - line.width
            line.append(item.path.shortened(to: max(room, 8)))
            return text(line)
        }
        let rest =
            max(
                under.count, Int(clamping: report.counts.uploading + report.counts.downloading))
            - shown.count
        guard rest > 0 else { return shown }
        return shown + [text(StyledLine("  and \(rest) more under way", .muted))]
    }

    private func attention(_ report: StatusReport) -> [String] {
        let notices = report.notices(now: now, columns: style.columns - 3)
            .flatMap { $0.wrapped(to: style.columns - 3) }
        return notices.map { text(StyledLine("  \($0)", .wait)) }
            + report.urgentRows(now: now, columns: style.columns - 1)
            .map { text(StyledLine($0, $0.hasPrefix("      ") ? nil : .bad)) }
    }
}

extension WatchFrame {
    /// Returns a line for each mount and for each thing that needs attention, for output that is not a
    /// terminal.
    package static func plainLines(
        _ mounts: [Mount], now: Date, uptime: Duration
    ) -> [String] {
        mounts.flatMap { mount -> [String] in
            guard let report = mount.report else {
                return ["\(mount.mountPoint)  \(mount.failure ?? "…")"]
            }
            let style = Style(columns: 10_000, rows: .max, isColoured: false, isUnicode: false)
            let frame = WatchFrame([mount], style, now: now, uptime: uptime)
            let (state, _) = frame.condition(mount, report)
            var words = [state, frame.pending(mount, report)]
            if report.counts.remaining > 0, let fraction = mount.traffic.fraction {
                words.append("\(Int(fraction * 100)) %")
            }
            let rate = mount.traffic.sentPerSecond(at: uptime)
            if rate >= 1 { words.append("\(HumanSize.format(UInt64(rate)))/s") }
            if let left = mount.traffic.timeLeft(at: uptime) {
                words.append("\(HumanDuration.format(seconds: left.rounded(.up))) left")
            }
            words.append("cache \(HumanSize.format(report.counts.localBytes))")
            return ["\(report.mountPoint.singleLine)  \(words.joined(separator: ", "))"]
                + frame.attention(report)
        }
    }
}
