extension PinProgress {
    /// The progress as one line: `120 MiB of 1.5 GiB are here, 3 files to go`.
    package var line: String {
        guard isPinned else {
            return "Counting: \(counted(files, "file", "files")), \(HumanSize.format(bytes)) so far"
        }
        let here = HumanSize.format(bytes - min(bytes, bytesMissing))
        guard filesMissing > 0 else {
            return
                "Pinned \(counted(files, "file", "files")), \(HumanSize.format(bytes)), all of it here"
        }
        let rest = counted(filesMissing, "file", "files")
        let delay = hindrance?.why ?? failed.first.map { "\($0.path): \($0.error.why)" }
        return "\(here) of \(HumanSize.format(bytes)) are here, \(rest) to go"
            + (delay.map { ", \($0.singleLine)" } ?? "")
    }
}

extension PinnedItem {
    /// `Photos  1.5 GiB, 120 files, 3 of them to be fetched (40 MiB)`.
    package var line: String {
        let missing =
            filesMissing == 0
            ? "" : ", \(filesMissing) of them to be fetched (\(HumanSize.format(bytesMissing)))"
        return "\(path.isEmpty ? "." : path.singleLine)  \(HumanSize.format(bytes)), "
            + counted(files, "file", "files") + missing
    }
}

extension StatusReport {
    /// Lines about what is pinned, and what could not be.
    var pinLines: [String] {
        let refused = refusedPin.map { pin in
            let path = pin.path.isEmpty ? "." : pin.path.singleLine
            return "Not pinned: \(path): \(pin.error.description(beside: pin.path))"
        }
        return (pins?.lines ?? []) + [refused].compactMap(\.self)
    }
}

extension PinCounts {
    /// Lines for the status of a mount.
    var lines: [String] {
        let state =
            filesMissing > 0
            ? "\(HumanSize.format(bytesMissing)) of \(counted(filesMissing, "file", "files")) still to be fetched"
            : "all here"
        let summary =
            "Pinned: \(counted(items, "item", "items")) with \(counted(files, "file", "files")), "
            + "\(HumanSize.format(bytes)), "
            + (isCounting ? "still being counted" : state)
        let problem = hindrance.map {
            ["Pinned files are not fetched: \($0.reason.singleLine)"]
        }
        let failures = (failed ?? []).map {
            "A pinned file is not here: \($0.path.singleLine): \($0.error.description(beside: $0.path))"
        }
        return [summary] + (problem ?? []) + failures
    }
}
