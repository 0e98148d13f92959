package import FoundationEssentials

extension StatusReport {
    /// The report for people, several lines without a line end after the last.
    ///
    /// - Parameter now: What the ages in it are reckoned from.
    package func text(now: Date) -> String {
        var lines = ["\(mountPoint)  \(source)", "  " + totals]
        if !remote.isReachable {
            let age = HumanDuration.format(seconds: now.timeIntervalSince(remote.since))
            let state =
                remote.refusesCredentials == true
                ? "The remote refuses the credentials for \(age); renew them, and all goes on by itself"
                : "The remote cannot be reached for \(age)"
            lines.append("  \(state)" + (remote.message.map { ": \($0.singleLine)" } ?? "."))
        }
        if let held = counts.held {
            lines.append(
                "  The remote has deleted \(held.phrase); `apus confirm-deletions` removes them here too"
            )
        }
        if let lostAndFound {
            lines.append(
                "  \(lostAndFound.phrase); see what they are, and take them away")
        }
        lines += table(now: now)
        if isTruncated { lines.append("  … and more") }
        lines.append(summary)
        return lines.joined(separator: "\n")
    }

    /// One line for a list of several mounts.
    package var line: String {
        "\(mountPoint)  \(source)  \(summary)" + (lostAndFound.map { " \($0.phrase)." } ?? "")
    }

    /// The last line of all: what a person wants to know before closing the lid.
    package var summary: String {
        guard counts.pending > 0 else { return "Everything is on the remote." }
        let changes = counts.pending == 1 ? "1 change" : "\(counts.pending) changes"
        let size = HumanSize.format(counts.pendingBytes)
        let failed = counts.failed > 0 ? ", \(counts.failed) failed" : ""
        return "\(changes) (\(size)) not yet on the remote\(failed)."
    }

    private var totals: String {
        let items = counts.items == 1 ? "1 item" : "\(counts.items) items"
        let bound = cacheBytesMax.map { " of at most \(HumanSize.format($0))" } ?? ""
        return "\(items), \(HumanSize.format(counts.localBytes))\(bound) on this disk"
    }

    /// Of many items that wait for the same reason, the first are shown.
    private static var alikeShownMax: Int { 10 }

    private func table(now: Date) -> [String] {
        var alike: [Problem: Int] = [:]
        let shown = items.filter { item in
            guard let error = item.error else { return true }
            alike[error, default: 0] += 1
            return alike[error, default: 0] <= Self.alikeShownMax
        }
        let rest = alike.filter { $0.value > Self.alikeShownMax }
            .map { "  … and \($0.value - Self.alikeShownMax) more: \($0.key)" }
        return Self.aligned(shown.map { $0.cells(now: now) }) + rest.sorted()
    }

    private static func aligned(_ rows: [StatusItem.Cells]) -> [String] {
        let width = rows.map(\.state.count).max() ?? 0
        let sizeWidth = rows.map(\.size.count).max() ?? 0
        return rows.map { row in
            let state = row.state.padding(to: width)
            let size = String(repeating: " ", count: sizeWidth - row.size.count) + row.size
            return "  \(state)  \(size)  \(row.path)" + (row.note.map { "  (\($0))" } ?? "")
        }
    }
}

extension LostAndFound {
    fileprivate var phrase: String {
        "\(files == 1 ? "1 file" : "\(files) files") without a place in \(path.singleLine)"
    }
}

extension StatusItem {
    fileprivate struct Cells {
        let state: String
        let size: String
        let path: String
        let note: String?
    }

    fileprivate func cells(now: Date) -> Cells {
        Cells(
            state: stateText, size: sizeText,
            path: path.isEmpty ? "." : path.singleLine, note: note(now: now))
    }

    private var sizeText: String {
        let whole = HumanSize.format(bytes)
        return bytesHere.map { "\(HumanSize.format($0)) of \(whole)" } ?? whole
    }

    private var stateText: String {
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
        case (_, .delete): "delete"
        case (_, .move): "move"
        default: state.rawValue
        }
    }

    private func note(now: Date) -> String? {
        let age = since.map { "for " + HumanDuration.format(seconds: now.timeIntervalSince($0)) }
        if let conflictsWith {
            return "with \(conflictsWith.singleLine), `apus resolve` decides"
                + (age.map { ", \($0)" } ?? "")
        }
        guard let error else {
            let parts = [age, link].compactMap(\.self)
            return parts.isEmpty ? nil : parts.joined(separator: ", ")
        }
        let tries: String? =
            switch attempts {
            case 0: nil
            case 1: "1 attempt"
            default: "\(attempts) attempts"
            }
        let effort = [tries, age].compactMap(\.self).joined(separator: " ")
        let reason = retry(now: now) + "\(error)"
        return effort.isEmpty ? reason : "\(reason), \(effort)"
    }

    private func retry(now: Date) -> String {
        guard isPassing, state != .uploading else { return "" }
        guard let retryAt, retryAt > now else { return "to be retried soon: " }
        let seconds = retryAt.timeIntervalSince(now).rounded(.up)
        return "to be retried in \(HumanDuration.format(seconds: seconds)): "
    }

    private var link: String? {
        target.map {
            "-> \($0.singleLine)"
                + (isContained ? " (outside of the mount, so it is not followed)" : "")
        }
    }
}

extension String {
    /// Without line ends and other control characters: a file name must not draw on a terminal.
    package var singleLine: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }

    fileprivate func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
