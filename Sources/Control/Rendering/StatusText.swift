package import FoundationEssentials

extension StatusReport {
    /// The extent of ``StatusReport/text(now:extent:)``.
    package enum Extent: Hashable, Sendable {
        /// All listed items, with whole paths.
        case all
        /// At most 20 items, those that need attention first, then those under way, in lines of at
        /// most this width; if it is nil, only paths are shortened.
        case summary(columns: Int?)

        static let itemsMax = 20

        /// At most this many items with the same reason, so that others are visible too.
        static let alikeMax = 10

        var columns: Int? {
            if case .summary(let columns) = self { columns } else { nil }
        }
    }

    /// Returns the report as several lines, without a line end after the last.
    ///
    /// - Parameter now: The time to which ages are relative.
    package func text(now: Date, extent: Extent = .all) -> String {
        let mount = TextLine([.path(mountPoint), .words("  "), .path(source)])
        var lines = [mount.shortened(to: extent.columns), "  " + totals]
        if !remote.isReachable {
            let age = HumanDuration.format(seconds: now.timeIntervalSince(remote.since))
            let state =
                remote.refusesCredentials
                ? "The remote has refused the credentials for \(age); the sync is paused until they "
                    + "are accepted"
                : "The remote has been unreachable for \(age)"
            lines.append("  \(state)" + (remote.message.map { ": \($0.singleLine)" } ?? "."))
        }
        if let held = counts.held {
            lines.append(
                "  The remote has deleted \(held.phrase); `apus confirm-deletions` removes them here too"
            )
        }
        if let lostAndFound {
            let line = TextLine(
                [.words("  ")] + lostAndFound.phrase + [.words("; inspect them and remove them")])
            lines.append(line.shortened(to: extent.columns))
        }
        if let unstored {
            lines.append(
                "  The disk of the state directory has failed to store "
                    + "\(counted(unstored, "file", "files")); only an upload makes "
                    + (unstored == 1 ? "it safe" : "them safe"))
        }
        if let pins { lines += pins.lines.map { "  \($0)" } }
        if let passthrough, passthrough.isHindered, let reason = passthrough.reason {
            lines.append("  Local files are read through the daemon, more slowly: \(reason)")
        }
        lines.append(summary)
        if let columns = extent.columns { lines = lines.flatMap { $0.wrapped(to: columns) } }
        let shown = shown(extent)
        lines += Self.table(shown, now: now, extent)
        let rest = max(listable, UInt64(items.count)) - UInt64(shown.count)
        if rest > 0 {
            lines.append(
                "  and \(rest) more" + (extent == .all ? "" : "; `apus status --all` lists them"))
        }
        return lines.joined(separator: "\n")
    }

    /// Returns one line for a list of several mounts, with paths shortened for a width.
    package func line(columns: Int?) -> String {
        let start: [TextLine.Part] = [
            .path(mountPoint), .words("  "), .path(source), .words("  \(summary)"),
        ]
        let end = lostAndFound.map { [.words(" ")] + $0.phrase + [.words(".")] }
        return TextLine(start + (end ?? [])).shortened(to: columns)
    }

    /// The most important information, as a sentence.
    package var summary: String {
        let conflicts =
            counts.conflicts == 0 ? [] : [counted(counts.conflicts, "conflict", "conflicts")]
        guard counts.pending > 0 else {
            let nothing = SyncProgress.nothingPending(held: counts.held?.deletions ?? 0)
            return ([nothing] + conflicts).joined(separator: ", ") + "."
        }
        let changes = counts.pending - min(counts.pending, counts.deletions)
        let size = HumanSize.format(counts.pendingBytes)
        let kinds =
            (changes == 0 ? [] : ["\(counted(changes, "change", "changes")) (\(size))"])
            + (counts.deletions == 0
                ? [] : [counted(counts.deletions, "deletion", "deletions")])
        let failed = counts.failed == 0 ? [] : ["\(counts.failed) failed"]
        return (["\(kinds.joined(separator: " and ")) not yet on the remote"] + failed + conflicts)
            .joined(separator: ", ") + "."
    }

    private var totals: String {
        let bound = cacheBytesMax.map { " of at most \(HumanSize.format($0))" } ?? ""
        return counted(counts.items, "item", "items")
            + ", \(HumanSize.format(counts.localBytes))\(bound) on this disk"
    }

    /// The number of items that a report without a limit would list, as far as known.
    private var listable: UInt64 {
        guard isTruncated else { return 0 }
        return counts.pending + (counts.held?.deletions ?? 0) + counts.conflicts
            + counts.downloading
    }

    private func shown(_ extent: Extent) -> [StatusItem] {
        if extent == .all { return items }
        var alike: [String: Int] = [:]
        let varied = items.filter { item in
            guard let error = item.error else { return true }
            let reason = error.description(beside: item.path)
            alike[reason, default: 0] += 1
            return alike[reason, default: 0] <= Extent.alikeMax
        }
        let kinds = StatusItem.Urgency.allCases.map { urgency in
            varied.filter { $0.urgency == urgency }
        }
        // Each kind has its share; the room that is left goes to the more urgent ones.
        let share = Extent.itemsMax / max(1, kinds.count { !$0.isEmpty })
        var rest = Extent.itemsMax - kinds.reduce(0) { $0 + min($1.count, share) }
        return kinds.flatMap { kind in
            let more = max(0, min(kind.count - share, rest))
            rest -= more
            return kind.prefix(share + more)
        }
    }

    private static func table(
        _ items: [StatusItem], now: Date, _ extent: Extent
    ) -> [String] {
        let width = items.map(\.stateText.count).max() ?? 0
        let sizeWidth = items.map(\.sizeText.count).max() ?? 0
        func space(_ width: Int, _ text: String) -> String {
            String(repeating: " ", count: width - text.count)
        }
        return items.flatMap { item in
            let (state, size) = (item.stateText, item.sizeText)
            let start = "  \(state)\(space(width, state))  \(space(sizeWidth, size))\(size)  "
            let name: [TextLine.Part] = [
                .words(start), .path(item.path.isEmpty ? "." : item.path),
            ]
            let note = item.note(now: now, extent)
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
    }
}

extension LostAndFound {
    fileprivate var phrase: [TextLine.Part] {
        [.words("\(counted(files, "file", "files")) without a place in "), .path(path)]
    }
}

extension StatusItem {
    /// The kinds of items, in the order in which a summary lists them.
    fileprivate enum Urgency: CaseIterable {
        case failed, held, conflict, isUnderWay, waits
    }

    fileprivate var urgency: Urgency {
        if state == .uploading || (bytesHere != nil && error == nil) { return .isUnderWay }
        if conflictsWith != nil { return .conflict }
        if error == nil || isPassing { return .waits }
        return attempts > 0 ? .failed : .held
    }

    fileprivate var sizeText: String {
        let whole = HumanSize.format(bytes)
        return bytesHere.map { "\(HumanSize.format($0)) of \(whole)" } ?? whole
    }

    fileprivate var stateText: String {
        switch (state, operation) {
        case (.uploading, .delete): "deleting"
        case (.uploading, .move): "moving"
        case (.uploading, .create): "creating"
        case (.uploading, .attributes): "updating"
        case (.uploading, _): "uploading \(percent) %"
        case _ where isPassing: "waiting"
        case _ where error != nil: attempts > 0 ? "failed" : "held"
        case _ where bytesHere != nil: "downloading \(percent) %"
        case (_, .conflict): "conflict"
        case (_, .delete): "deletion"
        case (_, .move): "move"
        default: state.rawValue
        }
    }

    /// Limit for the reason of a failure in a summary.
    private static let reasonMax = 400

    /// The note in parentheses; empty if there is nothing to say.
    fileprivate func note(now: Date, _ extent: StatusReport.Extent) -> [TextLine.Part] {
        let age = since.map { "for " + HumanDuration.format(seconds: now.timeIntervalSince($0)) }
        if let conflictsWith {
            let decision = ["`apus resolve` decides", age].compactMap(\.self)
            return [
                .words("with "), .path(conflictsWith),
                .words(", " + decision.joined(separator: ", ")),
            ]
        }
        guard let error else {
            let link = self.link
            let pause =
                awaitsPause && state != .uploading
                ? "open for writing, to be uploaded in a pause or when closed" : nil
            let words = [pause, age].compactMap(\.self).joined(separator: ", ")
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
