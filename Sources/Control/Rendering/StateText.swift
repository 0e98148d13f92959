extension StateReport {
    /// Returns two lines: the directory with its source, then its condition.
    ///
    /// - Parameter columns: The width to which paths are shortened; nil for no limit.
    package func text(columns: Int?) -> String {
        let title: [TextLine.Part] =
            [.path(stateDirectory)] + (source.map { [.words("  "), .path($0)] } ?? [])
        let size = bytesOnDisk.map { ", \(HumanSize.format($0)) on disk" } ?? ""
        let condition = [.words("  ")] + place + [.words("\(size); \(changes)")]
        return [title, condition].map { TextLine($0).shortened(to: columns) }
            .joined(separator: "\n")
    }

    /// Returns a line about a state that waits for a mount, for the status of others.
    ///
    /// - Parameter columns: The width to which paths are shortened; nil for no limit.
    package func waitingLine(columns: Int?) -> String {
        let name: [TextLine.Part] = source.map { [.path($0)] } ?? [.words("a state")]
        return TextLine(
            [.words("Not mounted: ")] + name + [.words(", \(changes) in "), .path(stateDirectory)]
        ).shortened(to: columns)
    }

    private var place: [TextLine.Part] {
        if let mountPoint {
            return [.words("mounted on "), .path(mountPoint)]
                + (isDead ? [.words(", where its daemon has died")] : [])
        }
        guard let lastMountPoint else { return [.words("not mounted")] }
        return [.words("not mounted, last on "), .path(lastMountPoint)]
    }

    private var changes: String {
        guard let pending else {
            return "it is not known whether changes wait"
                + (unverified.map { " (\($0.why.singleLine))" } ?? "")
        }
        guard pending > 0 else {
            return SyncProgress.nothingPending(held: held ?? 0, excluded: excluded ?? 0)
                .lowercasedFirst
        }
        let size = HumanSize.format(pendingBytes ?? 0)
        return "\(counted(pending, "change", "changes")) (\(size)) not yet on the remote"
    }
}

extension String {
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
