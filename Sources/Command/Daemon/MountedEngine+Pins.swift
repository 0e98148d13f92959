import Control
import Engine
import Host
import Synchronization

// The pins of the control API in terms of the engine.

extension MountedEngine {
    /// The maximum time between two looks at a pin that makes no progress.
    private static var pinInterval: Duration { .seconds(1) }

    func pin(_ paths: [String], waits: Bool) -> AsyncThrowingStream<PinProgress, any Error> {
        stream { report in
            let inodes = try await self.onEngine { () async throws(EngineError) in
                try await self.inodes(of: paths)
            }
            try await self.pin(inodes, paths, report)
            try await self.awaitPinned(inodes, waits: waits, report)
        }
    }

    private func pin(
        _ inodes: [InodeNumber], _ paths: [String],
        _ report: @escaping @Sendable (PinProgress) -> Void
    ) async throws {
        let pace = StreamPace()
        let excess = try await onEngine { () async throws(EngineError) in
            try await engine.pins.pin(inodes) { sums in
                if pace.isDue() { report(PinProgress(sums)) }
            }
        }
        guard let excess else { return }
        let names = paths.map { "\"\($0.isEmpty ? "." : $0)\"" }.joined(separator: ", ")
        throw ControlError(.refused, Problem("pin \(names)", excess, cacheBytesMax: cacheBytesMax))
    }

    /// Reports until everything is here, or nothing arrives for too long.
    private func awaitPinned(
        _ inodes: [InodeNumber], waits: Bool,
        _ report: @escaping @Sendable (PinProgress) -> Void
    ) async throws {
        var patience = PinPatience()
        let clock = SystemClock()
        let begin = clock.uptime
        let pace = StreamPace()
        var reported: PinProgress?
        while true {
            let count = engine.changeCount
            let start = clock.uptime
            var progress = try await pinProgress(of: inodes)
            let cost = clock.uptime - start
            progress.isDone = progress.filesMissing == 0 || !waits
            patience.limit(&progress, at: clock.uptime)
            if progress.isDone { return report(progress) }
            if progress != reported, pace.isDue() {
                report(progress)
                reported = progress
            }
            // A short one ends at once, a long one costs little.
            let rest = min(Self.reportInterval, (clock.uptime - begin) / 4)
            try await Task.sleep(for: max(Self.restMin, rest, cost * Self.restFactor))
            await engine.waitForChange(after: count, within: Self.pinInterval)
        }
    }

    private func pinProgress(of inodes: [InodeNumber]) async throws(ControlError) -> PinProgress {
        try await onEngine { () async throws(EngineError) in
            let status = try engine.pins.status()
            var progress = PinProgress(try engine.pins.sums(atAndBelow: inodes))
            progress.isPinned = true
            progress.hindrance = problem(status)
            progress.failed = status.failures.map { .init($0) }
            return progress
        }
    }

    func unpin(_ paths: [String]) async throws(ControlError) -> UnpinReport {
        try await onEngine { () async throws(EngineError) in
            var unpinned: UInt64 = 0
            for inode in try await inodes(of: paths) {
                unpinned += UInt64(try engine.pins.unpin(inode))
            }
            return UnpinReport(unpinned: unpinned)
        }
    }

    func pins() async throws(ControlError) -> PinReport {
        let items = try await onEngine { () async throws(EngineError) in
            try engine.pins.items()
        }
        return PinReport(
            mountPoint: options.mountPoint,
            pins: items.map { item in
                PinnedItem(
                    path: item.path, files: item.sums.files, bytes: item.sums.bytes,
                    filesMissing: item.sums.filesMissing, bytesMissing: item.sums.bytesMissing)
            })
    }

    // MARK: Status

    /// Adds what is pinned to a report, and what could not be.
    func addPins(to report: inout StatusReport) throws(EngineError) {
        let status = try engine.pins.status()
        report.pins = counts(status)
        report.refusedPin = status.refusal.map { refusal in
            SyncProgress.Failure(
                path: refusal.path,
                error: Problem(
                    "pin \"\(refusal.path)\"", refusal.excess, cacheBytesMax: cacheBytesMax))
        }
    }

    /// Returns nil if nothing is pinned.
    private func counts(_ status: PinStatus) -> PinCounts? {
        guard status.items > 0 else { return nil }
        var counts = PinCounts()
        counts.items = status.items
        counts.files = status.sums.files
        counts.bytes = status.sums.bytes
        counts.filesMissing = status.sums.filesMissing
        counts.bytesMissing = status.sums.bytesMissing
        counts.isCounting = !status.isCounted
        counts.hindrance = problem(status)
        counts.failed = status.failures.isEmpty ? nil : status.failures.map { .init($0) }
        return counts
    }

    /// Returns the reason why pinned files are not fetched; nil if there is none.
    private func problem(_ status: PinStatus) -> Problem? {
        let what = "fetch the pinned files"
        return switch status.hindrance {
        case nil: nil
        case .excess:
            Problem(
                what: what, why: Problem.excess(status.sums.bytes, of: cacheBytesMax),
                remedy: Problem.excessRemedy)
        case .noRoom:
            Problem(
                what: what,
                why: "the cache is full of changes that are not on the remote, or of files in use, "
                    + "or the disk of the state directory is full",
                remedy: "they are fetched once there is room")
        case .outOfReach:
            Problem(
                what: what, why: "the remote cannot be reached, or refuses the credentials",
                remedy: "they are fetched once it answers")
        }
    }
}

extension Problem {
    /// The reason why something cannot be pinned, with both sizes.
    fileprivate init(_ what: String, _ excess: PinExcess, cacheBytesMax: UInt64) {
        let isForDisk = excess.bytesMax < cacheBytesMax
        self.init(
            what: what,
            why: Self.excess(excess.bytes, of: excess.bytesMax)
                + (isForDisk ? " on a disk that is nearly full" : ""),
            remedy: isForDisk
                ? "free space on the disk of the state directory, or mount with a smaller --keep-free"
                : Self.excessRemedy)
    }

    fileprivate static func excess(_ bytes: UInt64, of cacheBytesMax: UInt64) -> String {
        "all pinned files together take \(HumanSize.format(bytes)), and the cache has "
            + HumanSize.format(cacheBytesMax)
    }

    fileprivate static var excessRemedy: String {
        "unpin other files, or mount with a larger --cache-size"
    }
}

extension PinProgress {
    fileprivate init(_ sums: PinSums) {
        self.init()
        files = sums.files
        bytes = sums.bytes
        filesMissing = sums.filesMissing
        bytesMissing = sums.bytesMissing
    }
}

extension SyncProgress.Failure {
    init(_ failure: PinStatus.Failure) {
        self.init(path: failure.path, error: Problem(failure.reason))
    }
}
