import FoundationEssentials

/// A row of the table in a status: one item, or several with the same state and reason.
struct StatusRow {
    /// At least one.
    let items: [StatusItem]

    /// So many items share a row.
    private static let alikeMin = 4
    /// So many of them are named.
    private static let namedMax = 3

    /// Returns the rows of a status, the most urgent first.
    static func rows(of items: [StatusItem], _ extent: StatusReport.Extent) -> [StatusRow] {
        if extent == .all { return items.map { StatusRow(items: [$0]) } }
        let kinds = StatusItem.Urgency.allCases.map { urgency in
            grouped(items.filter { $0.urgency == urgency })
        }
        // Each kind has its share; the room that is left goes to the more urgent ones.
        let max = StatusReport.Extent.rowsMax
        let share = max / Swift.max(1, kinds.count { !$0.isEmpty })
        var rest = max - kinds.reduce(0) { $0 + min($1.count, share) }
        return kinds.flatMap { kind in
            let more = Swift.max(0, min(kind.count - share, rest))
            rest -= more
            return kind.prefix(share + more)
        }
    }

    /// In the order of the first item of each.
    private static func grouped(_ items: [StatusItem]) -> [StatusRow] {
        var places: [String: Int] = [:]
        var groups: [[StatusItem]] = []
        for item in items {
            guard let error = item.error, item.state != .uploading else {
                groups.append([item])
                continue
            }
            let reason = "\(item.stateText) \(error.description(beside: item.path))"
            if let place = places[reason] {
                groups[place].append(item)
            } else {
                places[reason] = groups.count
                groups.append([item])
            }
        }
        return groups.flatMap { group in
            group.count < alikeMin
                ? group.map { StatusRow(items: [$0]) } : [StatusRow(items: group)]
        }
    }

    static func table(
        _ rows: [StatusRow], now: Date, _ extent: StatusReport.Extent
    ) -> [String] {
        let width = rows.map(\.stateText.count).max() ?? 0
        let sizeWidth = rows.map(\.sizeText.count).max() ?? 0
        func space(_ width: Int, _ text: String) -> String {
            String(repeating: " ", count: width - text.count)
        }
        return rows.flatMap { row in
            let (state, size) = (row.stateText, row.sizeText)
            return row.lines(
                after: "  \(state)\(space(width, state))  \(space(sizeWidth, size))\(size)  ",
                now: now, extent)
        }
    }

    private func lines(
        after start: String, now: Date, _ extent: StatusReport.Extent
    ) -> [String] {
        let name = [TextLine.Part.words(start)] + name
        let note = whole.note(now: now, extent)
        let line = TextLine(
            name + (note.isEmpty ? [] : [.words("  (")] + note + [.words(")")]))
        switch extent {
        case .all: return [line.text()]
        case .summary(nil): return [line.text(pathMax: max(24, 80 - start.count))]
        case .summary(let columns?):
            let whole = line.shortened(to: columns)
            // A note that does not fit gets a line of its own.
            return whole.width <= columns
                ? [whole]
                : [name, [.words("      ")] + note].map { TextLine($0).fitted(to: columns) }
        }
    }

    private var name: [TextLine.Part] {
        let paths = items.prefix(Self.namedMax)
            .map { TextLine.Part.path($0.path.isEmpty ? "." : $0.path) }
        guard items.count > 1 else { return paths }
        let list = paths.enumerated().flatMap { index, path in
            index == 0 ? [path] : [.words(", "), path]
        }
        return [.words("\(items.count) items: ")] + list
            + [.words(" and \(items.count - paths.count) more")]
    }

    /// One item that stands for all.
    private var whole: StatusItem {
        var whole = items[0]
        whole.since = items.compactMap(\.since).min()
        whole.retryAt = items.compactMap(\.retryAt).min()
        whole.attempts = items.map(\.attempts).max() ?? 0
        return whole
    }

    private var stateText: String { items[0].stateText }

    private var sizeText: String {
        items.count == 1
            ? items[0].sizeText : HumanSize.format(items.reduce(0) { $0 + $1.bytes })
    }
}

extension StatusItem {
    /// The kinds of items, in the order in which a summary lists them.
    enum Urgency: CaseIterable {
        case failed, held, conflict, isUnderWay, waits
    }

    var urgency: Urgency {
        if state == .uploading || (bytesHere != nil && error == nil) { return .isUnderWay }
        if conflictsWith != nil { return .conflict }
        if error == nil || isPassing { return .waits }
        return attempts > 0 ? .failed : .held
    }

    var sizeText: String {
        let whole = HumanSize.format(bytes)
        return bytesHere.map { "\(HumanSize.format($0)) of \(whole)" } ?? whole
    }

    var stateText: String {
        switch (state, operation) {
        case (.uploading, .upload), (.uploading, .download), (.uploading, .conflict),
            (.uploading, nil):
            "\(transferWord) \(percent) %"
        case (.uploading, _): transferWord
        // A deletion that is retried is still one.
        case (_, .delete) where isPassing: "deletion"
        case _ where isPassing: "waiting"
        case _ where error != nil: attempts > 0 ? "failed" : "held"
        case _ where bytesHere != nil: "downloading \(percent) %"
        case (_, .conflict): "conflict"
        case (_, .delete): "deletion"
        case (_, .move): "move"
        default: state.rawValue
        }
    }

    /// The word for the current transfer.
    var transferWord: String {
        state == .uploading ? operation?.transferWord ?? "uploading" : "downloading"
    }

    /// Limit for the reason of a failure in a summary.
    private static let reasonMax = 400

    /// The note in parentheses; empty if there is nothing to say.
    func note(now: Date, _ extent: StatusReport.Extent) -> [TextLine.Part] {
        let age = age(now: now)
        if let conflictsWith {
            let decision = ["`apus resolve` decides", age].compactMap(\.self)
            return [
                .words("with "), .path(conflictsWith),
                .words(", " + decision.joined(separator: ", ")),
            ]
        }
        guard let error else {
            let link = self.link
            let words = [openness, age].compactMap(\.self).joined(separator: ", ")
            let comma = !words.isEmpty && !link.isEmpty ? ", " : ""
            return (words.isEmpty ? [] : [.words(words + comma)]) + link
        }
        let tries = attempts == 0 ? nil : counted(attempts, "attempt", "attempts")
        let effort = [tries, age].compactMap(\.self).joined(separator: " ")
        let reason =
            extent == .all
            ? "\(error)" : error.description(beside: path).shortened(to: Self.reasonMax)
        return [.words(retry(now: now))] + TextLine.Part.quoting(reason)
            + (effort.isEmpty ? [] : [.words(", \(effort)")])
    }

    /// Returns why an open file is not sent now.
    private var openness: String? {
        if state == .uploading { return nil }
        if isOpenAndSent { return "open for writing, all of it so far is on the remote" }
        return awaitsPause ? "open for writing, to be uploaded in a pause or when closed" : nil
    }

    /// Returns how long its transfer has been under way, or how long it has been waiting.
    private func age(now: Date) -> String? {
        if state == .uploading, error == nil, let startedAt {
            return AttemptTimes(startedAt: startedAt, lastSignAt: lastSignAt).text(now: now)
        }
        return since.map { "for " + HumanDuration.format(seconds: now.timeIntervalSince($0)) }
    }

    private func retry(now: Date) -> String {
        guard isPassing, state != .uploading else { return "" }
        guard let retryAt, retryAt > now else { return "to be retried soon: " }
        let seconds = retryAt.timeIntervalSince(now).rounded(.up)
        return "to be retried in \(HumanDuration.format(seconds: seconds)): "
    }

    private var link: [TextLine.Part] {
        guard let target else { return [] }
        return [
            .words("-> "), .path(target),
            .words(isContained ? " (outside of the mount, so it is not followed)" : ""),
        ]
    }
}
