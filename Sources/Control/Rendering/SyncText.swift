package import FoundationEssentials

extension SyncProgress {
    /// The progress as one line: `3 changes (1.5 MiB) to go; a/b.mov: uploading 12 % (for 5 s)`, with the
    /// reason of a delay, and an item that waits if none is under way.
    package var line: String { line(now: Date()) }

    /// - Parameter now: The time to which the next attempt is relative.
    package func line(now: Date) -> String {
        if isDone { return doneLine }
        guard remaining > 0 else { return "Waiting for the last changes" }
        let sending = uploading.prefix(2).map { $0.text(now: now) }
        let rest = resting.map { [$0.singleLine] } ?? []
        let delay = [delay(now: now)].compactMap(\.self)
        return (["\(changes) to go"] + delay + sending + rest).joined(separator: "; ")
    }

    /// Returns why something is not sent now.
    private func delay(now: Date) -> String? {
        if let unreachable { return unreachable.why.singleLine }
        guard let first = waiting?.first ?? queued?.first else { return nil }
        return "\(first.path.singleLine): \(first.error.why.singleLine)" + first.times(now: now)
    }

    private var doneLine: String {
        if let unverified {
            return "It is not known which changes are not on the remote yet: \(unverified)"
        }
        if remaining > 0 {
            return "\(changes) not yet on the remote"
                + (unsent > 0 ? ", \(unsent) could not be sent" : "")
        }
        return Self.nothingPending(held: held ?? 0, excluded: excluded ?? 0, open: open ?? 0)
            + (bytesSent > 0 ? ", \(HumanSize.format(bytesSent)) sent" : "")
    }

    /// Words for files that are open for writing, and sent so far.
    static func stillOpen(_ files: UInt64) -> String {
        "\(counted(files, "file is", "files are")) still open for writing"
    }

    /// The result if no change is pending. Local items that the remote has deleted are not on the
    /// remote, although they are not changes.
    ///
    /// - Parameters:
    ///   - held: Remote deletions that wait for a confirmation.
    ///   - excluded: Items that --exclude keeps on this machine.
    ///   - open: Files that are open for writing.
    package static func nothingPending(
        held: UInt64, excluded: UInt64 = 0, open: UInt64 = 0
    ) -> String {
        var exceptions: [String] = []
        if open > 0 { exceptions.append(stillOpen(open)) }
        if held > 0 {
            let verb = held == 1 ? "is" : "are"
            exceptions.append("\(counted(held, "deletion", "deletions")) there \(verb) held")
        }
        if excluded > 0 {
            exceptions.append(
                "\(counted(excluded, "excluded item is", "excluded items are")) only here")
        }
        guard !exceptions.isEmpty else { return "Everything is on the remote" }
        return "Every change is on the remote; " + exceptions.joined(separator: ", ")
    }

    /// Whether something is not on the remote.
    package var isInVain: Bool { !failed.isEmpty || isTimedOut }

    /// Returns a line for each of the items that a sync did not wait for any longer, and one for the others:
    /// `waiting a.jpg: no room (for 5 min, retried in 20 s)`.
    ///
    /// - Parameter columns: The maximum width; nil for none.
    package func timeoutLines(columns: Int?, now: Date = Date()) -> [String] {
        guard isTimedOut else { return [] }
        let waits = waiting ?? []
        let lines = waits.map { wait in
            let line = TextLine(
                [.words("waiting "), .path(wait.path), .words(": ")]
                    + TextLine.Part.quoting(
                        wait.error.description(beside: wait.path) + wait.times(now: now)))
            return columns.map(line.fitted) ?? line.text()
        }
        guard remaining > UInt64(waits.count) else { return lines }
        let others = remaining - UInt64(waits.count)
        return lines + ["and \(others) more; `apus status --all` lists them"]
    }

    private var changes: String {
        counted(remaining, "change", "changes") + " (\(HumanSize.format(bytesPending)))"
    }

    /// Returns a line for each of the first 20 failures, and one for the others.
    ///
    /// - Parameter columns: The maximum width; nil for none.
    package func failureLines(columns: Int?) -> [String] {
        let prefix = "failed "
        let shown = failed.prefix(StatusReport.Extent.rowsMax)
            .map { prefix + $0.line(columns: columns.map { $0 - prefix.count }) }
        guard failed.count > shown.count else { return shown }
        let others = max(unsent, UInt64(failed.count)) - UInt64(shown.count)
        return shown + ["and \(others) more; `apus status --all` lists them"]
    }
}

extension SyncProgress.Failure {
    /// Returns the path, unless it is the whole mount, and the reason.
    ///
    /// - Parameter columns: The maximum width; nil for none.
    package func line(columns: Int?) -> String {
        let line = TextLine(
            (path.isEmpty ? [] : [.path(path), .words(": ")])
                + TextLine.Part.quoting(error.description(beside: path)))
        return columns.map(line.fitted) ?? line.text()
    }
}

extension EvictReport {
    /// `Freed 1.5 MiB of 3 files.`
    package var line: String {
        let freed = "Freed \(HumanSize.format(bytesFreed)) of \(counted(files, "file", "files"))"
        return bytesLeaving == 0
            ? freed + "."
            : freed
                + "; the other \(HumanSize.format(bytesLeaving)) are being removed from the disk."
    }

    package var refusalLines: [String] {
        refused.map { "\($0.path.isEmpty ? "." : $0.path.singleLine): \($0.reason.singleLine)" }
    }
}

extension SyncProgress.Wait {
    /// ` (for 5 min, retried in 20 s)`.
    fileprivate func times(now: Date) -> String {
        let waited = since.map {
            "for " + HumanDuration.format(seconds: now.timeIntervalSince($0))
        }
        let delay = retryAt.map { $0.timeIntervalSince(now).rounded(.up) } ?? 0
        let retry =
            delay > 0
            ? "retried in " + HumanDuration.format(seconds: delay)
            : attempts > 0 ? "retried now" : nil
        let times = [waited, retry].compactMap(\.self)
        return times.isEmpty ? "" : " (\(times.joined(separator: ", ")))"
    }
}
