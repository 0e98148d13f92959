package import FoundationEssentials

extension StatusReport {
    /// The extent of ``StatusReport/text(now:extent:)``.
    package enum Extent: Hashable, Sendable {
        /// All listed items, with whole paths.
        case all
        /// At most 20 items, those that need attention first, then those under way, with paths
        /// shortened to this width.
        case summary(columns: Int)

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
        var lines = ["\(mountPoint)  \(source)", "  " + totals]
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
            lines.append("  \(lostAndFound.phrase); inspect them and remove them")
        }
        lines.append(summary)
        let shown = shown(extent)
        lines += Self.table(shown, now: now, columns: extent.columns)
        let rest = max(listable, UInt64(items.count)) - UInt64(shown.count)
        if rest > 0 {
            lines.append(
                "  and \(rest) more" + (extent == .all ? "" : "; `apus status --all` lists them"))
        }
        return lines.joined(separator: "\n")
    }

    /// One line for a list of several mounts.
    package var line: String {
        "\(mountPoint)  \(source)  \(summary)" + (lostAndFound.map { " \($0.phrase)." } ?? "")
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
        var alike: [Problem: Int] = [:]
        let varied = items.filter { item in
            guard let error = item.error else { return true }
            alike[error, default: 0] += 1
            return alike[error, default: 0] <= Extent.alikeMax
        }
        let ranked = StatusItem.Urgency.allCases.flatMap { urgency in
            varied.filter { $0.urgency == urgency }
        }
        return Array(ranked.prefix(Extent.itemsMax))
    }

    /// - Parameter columns: The width to which paths are shortened, but not their notes.
    private static func table(_ items: [StatusItem], now: Date, columns: Int?) -> [String] {
        let width = items.map(\.stateText.count).max() ?? 0
        let sizeWidth = items.map(\.sizeText.count).max() ?? 0
        func space(_ width: Int, _ text: String) -> String {
            String(repeating: " ", count: width - text.count)
        }
        return items.map { item in
            let (state, size) = (item.stateText, item.sizeText)
            let start = "  \(state)\(space(width, state))  \(space(sizeWidth, size))\(size)  "
            let pathMax = columns.map { max(24, $0 - start.count) } ?? .max
            let path = item.path.isEmpty ? "." : item.path.singleLine.shortened(to: pathMax)
            return start + path + (item.note(now: now, pathMax: pathMax).map { "  (\($0))" } ?? "")
        }
    }
}

extension LostAndFound {
    fileprivate var phrase: String {
        "\(counted(files, "file", "files")) without a place in \(path.singleLine)"
    }
}

extension StatusItem {
    /// The order in which a summary lists items.
    fileprivate enum Urgency: CaseIterable {
        case needsAttention, isUnderWay, waits
    }

    fileprivate var urgency: Urgency {
        if state == .uploading || (bytesHere != nil && error == nil) { return .isUnderWay }
        return conflictsWith != nil || (error != nil && !isPassing) ? .needsAttention : .waits
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

    /// - Parameter pathMax: The length to which paths in the note are shortened.
    fileprivate func note(now: Date, pathMax: Int) -> String? {
        let age = since.map { "for " + HumanDuration.format(seconds: now.timeIntervalSince($0)) }
        if let conflictsWith {
            let other = conflictsWith.singleLine.shortened(to: pathMax)
            return "with \(other), `apus resolve` decides" + (age.map { ", \($0)" } ?? "")
        }
        guard let error else {
            let parts = [age, link(pathMax: pathMax)].compactMap(\.self)
            return parts.isEmpty ? nil : parts.joined(separator: ", ")
        }
        let tries = attempts == 0 ? nil : counted(attempts, "attempt", "attempts")
        let effort = [tries, age].compactMap(\.self).joined(separator: " ")
        var reason = retry(now: now) + "\(error)"
        if path.count > pathMax {
            reason = reason.replacing(path, with: path.shortened(to: pathMax))
        }
        reason = reason.singleLine.shortened(to: pathMax == .max ? .max : 4 * pathMax + 200)
        return effort.isEmpty ? reason : "\(reason), \(effort)"
    }

    private func retry(now: Date) -> String {
        guard isPassing, state != .uploading else { return "" }
        guard let retryAt, retryAt > now else { return "to be retried soon: " }
        let seconds = retryAt.timeIntervalSince(now).rounded(.up)
        return "to be retried in \(HumanDuration.format(seconds: seconds)): "
    }

    private func link(pathMax: Int) -> String? {
        target.map {
            "-> \($0.singleLine.shortened(to: pathMax))"
                + (isContained ? " (outside of the mount, so it is not followed)" : "")
        }
    }
}
