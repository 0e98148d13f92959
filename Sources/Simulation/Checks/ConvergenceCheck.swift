import Engine

/// Waits until the mounted tree and the remote are equal (I7), reading all of both.
struct ConvergenceCheck {
    /// The number of passes over the directories: a change may show only after the parent's
    /// listing, and deep trees need one listing per level.
    private static let roundsMax = 12

    /// Long enough for all directories in use to be listed again, if each takes 1.5 s or less.
    private static let refreshMax: Duration = .seconds(35)

    let mount: SimulatedMount
    /// Whether, because of a stale listing, an object may have counted as deleted while it had a
    /// temporary name, and then as new.
    let mayShowAside: Bool

    /// - Returns: Inodes that were partly written before the remote lost their base version: they stay
    ///   local, and `apus status` shows the reason.
    /// - Throws: ``ProgramFailure`` if both sides do not become equal in time.
    func waitForAgreement() async throws -> Set<InodeNumber> {
        var complaint = ProgramFailure("I7: changes stay pending")
        var pause = Self.refreshMax
        for _ in 0..<Self.roundsMax {
            let incomplete = try await settle()
            do {
                try await check(except: incomplete)
                return incomplete
            } catch let failure as ProgramFailure {
                complaint = ProgramFailure("I7: \(failure.reason)")
            }
            try await mount.clock.sleep(until: mount.clock.uptime + pause)
            pause = min(pause * 2, relistingMax)
        }
        throw complaint
    }

    /// Long enough for all directories in use to be listed again: docs/semantics.md, "Remote
    /// changes", has the time for those that take longer.
    private var relistingMax: Duration {
        let settings = mount.provider.settings
        let directories = Dictionary(grouping: mount.provider.snapshot().keys) {
            $0.names.dropLast()
        }
        let pages = (directories.values.map(\.count).max() ?? 0) / settings.pageEntries + 1
        let duration = settings.latency.upperBound * pages
        guard duration > .milliseconds(1_500) else { return Self.refreshMax }
        return Self.refreshMax + min(duration * 160, .seconds(3_600))
    }

    private func settle() async throws -> Set<InodeNumber> {
        let namesakes = NamesakeCheck(mount: mount)
        try await namesakes.renameAll()
        FaultPlan().apply(to: mount.provider)
        var items: [PendingItem] = []
        let deadline = mount.clock.uptime + .seconds(3_600)
        while mount.clock.uptime < deadline {
            items = try mount.engine.status(below: .root, limit: 1_000).items
            if items.allSatisfy(\.isIncomplete) { return Set(items.map(\.inode)) }
            try await mount.clock.sleep(until: mount.clock.uptime + .milliseconds(500))
            // A name that waited for another one may be refused only now.
            try await namesakes.renameAll()
        }
        throw ProgramFailure("I7: changes stay pending: \(items.prefix(5))")
    }

    private func check(except incomplete: Set<InodeNumber>) async throws {
        let namesakes = NamesakeCheck(mount: mount)
        let remote = try await namesakes.spelledAsHere(mount.provider.snapshot())
        let attributes = try await namesakes.spelledAsHere(mount.provider.attributes())
        let check = TreeCheck(
            engine: mount.engine,
            model: ReferenceModel(remote, attributes), exceptions: incomplete,
            // Attributes that are not in listings may have changed unnoticed.
            comparesMetadata: mount.provider.settings.listsMetadata)
        try await check.check(readsBytes: true)
        let left = remote.keys.map(\.description).filter { $0.hasPrefix("apus-moving-") }
        if !mayShowAside, let key = left.min() {
            throw ProgramFailure("\"\(key)\" was left where it stepped aside")
        }
    }
}

extension PendingItem {
    /// Whether it cannot be uploaded because the remote lost its missing bytes, or is blocked by
    /// such an item.
    fileprivate var isIncomplete: Bool {
        guard let failure, failure.isFinal else { return false }
        return failure.kind == .changedRemotely
            && ["fetch the rest of", "wait for"].contains { failure.what.hasPrefix($0) }
    }
}
