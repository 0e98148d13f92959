package import FoundationEssentials

// A mount in a list of several, and its parts that a watch shows too.

extension StatusReport {
    /// Returns one line, with paths shortened for a width: source, whether it is online, what is pending, the
    /// rate and the time left, and the space of local copies. Then follow a line for each thing that needs
    /// attention, and the items that do.
    package func overview(now: Date, columns: Int?) -> [String] {
        let head = TextLine([
            .path(mountPoint), .words("  "), .path(source),
            .words("  \(condition(now: now).text)  \(summaryWithPace) \(localCopies)."),
        ])
        var notices = notices(now: now, columns: columns).map { "  \($0)" }
        if let columns { notices = notices.flatMap { $0.wrapped(to: columns) } }
        return [head.shortened(to: columns)] + notices + urgentRows(now: now, columns: columns)
    }

    /// Whether the remote answers.
    func condition(now: Date) -> (text: String, colour: StyledLine.Colour) {
        if remote.isReachable { return ("online", .good) }
        let age = HumanDuration.format(seconds: now.timeIntervalSince(remote.since))
        return remote.refusesCredentials
            ? ("credentials refused for \(age)", .bad) : ("offline for \(age)", .bad)
    }

    /// Returns the rows of the items that wait for a person.
    func urgentRows(now: Date, columns: Int?) -> [String] {
        let urgent = items.filter { [.failed, .held, .conflict].contains($0.urgency) }
        let extent = Extent.summary(columns: columns)
        let rows = StatusRow.rows(of: urgent, extent)
        let rest = urgent.count - rows.reduce(0) { $0 + $1.items.count }
        return StatusRow.table(rows, now: now, extent)
            + (rest > 0 ? ["  and \(rest) more; `apus status --all` lists them"] : [])
    }

    /// The bytes that are still to be sent: pending files count with all their bytes.
    var bytesLeft: UInt64 {
        let sent = items.filter { $0.state == .uploading }.reduce(0) { $0 + $1.bytesSent }
        return counts.pendingBytes - min(counts.pendingBytes, sent)
    }

    /// The rates of the last seconds, and the time left at that of the uploads.
    var pace: [String] {
        let rates = [("up", traffic?.sentPerSecond), ("down", traffic?.receivedPerSecond)]
        var words = rates.compactMap { direction, rate in
            rate.map { "\(direction) \(HumanSize.format($0))/s" }
        }
        if let rate = traffic?.sentPerSecond, rate > 0, bytesLeft > 0 {
            let seconds = (Double(bytesLeft) / Double(rate)).rounded(.up)
            words.append("\(HumanDuration.format(seconds: seconds)) left")
        }
        return words
    }
}
