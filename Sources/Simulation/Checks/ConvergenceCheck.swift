import Engine

/// Waits until the mounted tree and the remote are equal (I7), reading all of both.
struct ConvergenceCheck {
    /// The number of passes over the directories: a change may show only after the parent's
    /// listing, and deep trees need one listing per level.
    private static let roundsMax = 12

    let mount: SimulatedMount
    /// Whether, because of a stale listing, an object may have counted as deleted while it had a
    /// temporary name, and then as new.
    let mayShowAside: Bool

    /// - Returns: Inodes that were partly written before the remote lost their base version: they stay
    ///   local, and `apus status` shows the reason.
    /// - Throws: ``ProgramFailure`` if both sides do not become equal in time.
    func waitForAgreement() async throws -> Set<InodeNumber> {
        var complaint = ProgramFailure("I7: changes stay pending")
        for _ in 0..<Self.roundsMax {
            let incomplete = try await settle()
            do throws(ProgramFailure) {
                try await check(except: incomplete)
                return incomplete
            } catch {
                complaint = error
            }
            // Long enough for all directories in use to be listed again.
            try await mount.clock.sleep(until: mount.clock.uptime + .seconds(35))
        }
        throw complaint
    }

    private func settle() async throws -> Set<InodeNumber> {
        FaultPlan().apply(to: mount.provider)
        var items: [PendingItem] = []
        let deadline = mount.clock.uptime + .seconds(3_600)
        while mount.clock.uptime < deadline {
            items = try mount.engine.status(below: .root, limit: 1_000).items
            if items.allSatisfy(\.isIncomplete) { return Set(items.map(\.inode)) }
            try await mount.clock.sleep(until: mount.clock.uptime + .milliseconds(500))
        }
        throw ProgramFailure("I7: changes stay pending: \(items.prefix(5))")
    }

    private func check(except incomplete: Set<InodeNumber>) async throws(ProgramFailure) {
        let remote = mount.provider.snapshot()
        let remoteAttributes = mount.provider.attributes()
        var seen: Set<ObjectKey> = []
        var directories: [(key: ObjectKey, inode: InodeNumber)] = [(.root, .root)]
        while let (key, inode) = directories.popLast() {
            let entries = try await asking("I7", "list \(key)") { () async throws(EngineError) in
                try await mount.engine.allEntries(of: inode)
            }
            for entry in entries {
                let key = key.appending(entry.name)
                seen.insert(key)
                if incomplete.contains(entry.attributes.inode) { continue }
                try await check(key, entry.attributes, remote[key], remoteAttributes[key])
                if entry.attributes.kind == .directory {
                    directories.append((key, entry.attributes.inode))
                }
            }
        }
        for key in remote.keys.sorted(by: { "\($0)" < "\($1)" }) {
            if !seen.contains(key) {
                throw ProgramFailure("I7: \"\(key)\" is on the remote and not here")
            }
            if !mayShowAside, key.description.hasPrefix("apus-moving-") {
                throw ProgramFailure("I7: \"\(key)\" was left where it stepped aside")
            }
        }
    }

    private func check(
        _ key: ObjectKey, _ attributes: Attributes, _ entry: SimulatedSnapshotEntry?,
        _ theirs: ObjectAttributes?
    ) async throws(ProgramFailure) {
        switch (entry, attributes.kind) {
        case (nil, _): throw ProgramFailure("I7: \"\(key)\" is here and not on the remote")
        case (.directory, .directory): break
        case (.symlink(let target), .symlink):
            let ours = try await asking("I7", "read \(key)") { () async throws(EngineError) in
                try await mount.engine.retrying { () throws(Blocked) in
                    try mount.engine.readSymlink(attributes.inode)
                }
            }
            guard ours == target else {
                throw ProgramFailure("I7: \"\(key)\" points elsewhere here")
            }
            try checkTime(key, attributes, theirs)
            return
        case (.file(let bytes), .file):
            let ours = try await asking("I7", "read \(key)") { () async throws(EngineError) in
                try await mount.engine.content(of: attributes.inode)
            }
            guard ours == bytes, attributes.size == UInt64(bytes.count) else {
                throw ProgramFailure("I7: \"\(key)\" here " + Difference(ours, bytes).description)
            }
            try checkTime(key, attributes, theirs)
        case (let entry?, _):
            throw ProgramFailure(
                "I7: \"\(key)\" is a \(attributes.kind) here, on the remote \(entry)")
        }
        // Attributes that are not in listings may have changed unnoticed.
        guard mount.provider.listsMetadata else { return }
        let extended = try await asking("I7", "look at \"\(key)\"") {
            () async throws(EngineError) in
            try await mount.engine.retrying { () throws(Blocked) in
                try mount.engine.extendedAttributes(of: attributes.inode)
            }
        }
        guard extended == theirs?.extendedAttributes else {
            throw ProgramFailure(
                "I7: \"\(key)\" has the extended attributes \(extended) here, "
                    + "\(String(describing: theirs?.extendedAttributes)) on the remote")
        }
        let mode = theirs?.mode
        guard mode == attributes.mode else {
            throw ProgramFailure(
                "I7: \"\(key)\" has mode \(String(attributes.mode, radix: 8)) here, "
                    + "\(mode.map { String($0, radix: 8) } ?? "none") on the remote")
        }
    }

    private func checkTime(
        _ key: ObjectKey, _ attributes: Attributes, _ theirs: ObjectAttributes?
    ) throws(ProgramFailure) {
        guard attributes.modified == theirs?.modified else {
            throw ProgramFailure(
                "I7: \"\(key)\" is of \(attributes.modified.nanoseconds) here, of "
                    + "\(theirs?.modified.nanoseconds ?? 0) on the remote")
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
