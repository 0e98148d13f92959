package import FoundationEssentials

extension StatusReport {
    /// Returns the report as several lines, without a line end after the last.
    ///
    /// - Parameter now: The time to which ages are relative.
    package func text(now: Date, extent: Extent = .all) -> String {
        let mount = TextLine([.path(mountPoint), .words("  "), .path(source)])
        var lines = [mount.shortened(to: extent.columns), "  " + totals]
        lines += notices(now: now, columns: extent.columns).map { "  \($0)" }
        lines.append(summaryWithPace)
        if let columns = extent.columns { lines = lines.flatMap { $0.wrapped(to: columns) } }
        let rows = StatusRow.rows(of: items, extent)
        lines += StatusRow.table(rows, now: now, extent)
        let shownCount = rows.reduce(0) { $0 + UInt64($1.items.count) }
        let rest = max(listable, UInt64(items.count)) - shownCount
        if rest > 0 {
            lines.append(
                "  and \(rest) more" + (extent == .all ? "" : "; `apus status --all` lists them"))
        }
        return lines.joined(separator: "\n")
    }

    /// Returns a sentence for each thing about the mount that its user should know.
    ///
    /// - Parameter columns: The width to which paths are shortened; nil for no limit.
    func notices(now: Date, columns: Int?) -> [String] {
        var lines: [String] = []
        if !remote.isReachable {
            let age = HumanDuration.format(seconds: now.timeIntervalSince(remote.since))
            let state =
                remote.refusesCredentials
                ? "The remote has refused the credentials for \(age); the sync is paused until they "
                    + "are accepted"
                : "The remote has been unreachable for \(age)"
            lines.append(state + (remote.message.map { ": \($0.singleLine)" } ?? "."))
        }
        if let held = counts.held {
            lines.append(
                "The remote has deleted \(held.phrase); `apus confirm-deletions` removes them here too"
            )
        }
        if let lostAndFound {
            let line = TextLine(
                lostAndFound.phrase + [.words("; inspect them and remove them")])
            lines.append(line.shortened(to: columns))
        }
        if let unstored {
            lines.append(
                "The disk of the state directory has failed to store "
                    + "\(counted(unstored, "file", "files")); only an upload makes "
                    + (unstored == 1 ? "it safe" : "them safe"))
        }
        lines += pinLines
        if let passthrough, passthrough.isHindered, let reason = passthrough.reason {
            lines.append("Local files are read through the daemon, more slowly: \(reason)")
        }
        return lines
    }

    /// The most important information, as a sentence.
    package var summary: String { sentence(with: []) }

    /// The same; while changes are pending, with the rates of transfers and the time left.
    var summaryWithPace: String { sentence(with: pace) }

    private func sentence(with pace: [String]) -> String {
        let conflicts =
            counts.conflicts == 0 ? [] : [counted(counts.conflicts, "conflict", "conflicts")]
        guard counts.remaining > 0 else {
            let nothing = SyncProgress.nothingPending(
                held: counts.held?.deletions ?? 0, excluded: counts.excluded ?? 0,
                open: counts.open ?? 0)
            return ([nothing] + conflicts).joined(separator: ", ") + "."
        }
        let changes = counts.remaining - min(counts.remaining, counts.deletions)
        let size = HumanSize.format(counts.pendingBytes)
        let kinds =
            (changes == 0 ? [] : ["\(counted(changes, "change", "changes")) (\(size))"])
            + (counts.deletions == 0
                ? [] : [counted(counts.deletions, "deletion", "deletions")])
        let failed = counts.failed == 0 ? [] : ["\(counts.failed) failed"]
        return
            (["\(kinds.joined(separator: " and ")) not yet on the remote"] + failed + conflicts
            + pace)
            .joined(separator: ", ") + "."
    }

    private var totals: String { counted(counts.items, "item", "items") + ", " + localCopies }

    /// The space that local copies take, of its bound.
    var localCopies: String {
        let bound = cacheBytesMax.map { " of at most \(HumanSize.format($0))" } ?? ""
        return HumanSize.format(counts.localBytes) + bound + " on this disk"
    }

    /// The number of items that a report without a limit would list, as far as known.
    private var listable: UInt64 {
        guard isTruncated else { return 0 }
        return counts.pending + (counts.held?.deletions ?? 0) + counts.conflicts
            + counts.downloading
    }
}

extension LostAndFound {
    fileprivate var phrase: [TextLine.Part] {
        [.words("\(counted(files, "file", "files")) without a place in "), .path(path)]
    }
}
