import Engine

// Deaths of the process and the machine, and the checks after them.

extension SharedRun {
    // MARK: Durable names

    mutating func synchronizeDirectory(_ path: Path) async throws {
        var names: [DirectoryEntry] = []
        var directory = InodeNumber.root
        let done: Void? = try await ask { engine in
            directory = try await find(path, engine)
            names = engine.knownEntries(of: directory)
            try await path.synchronizeDirectory(engine)
        }
        if done != nil { keep(names, in: directory) }
    }

    /// Records names that were synced. A file's name lasts as long as its bytes. If the remote is
    /// listed again from its old state, its names replace them.
    private mutating func keep(_ names: [DirectoryEntry], in directory: InodeNumber) {
        guard !hadPowerCuts else { return }
        for entry in names where oracle.isDurable(entry.attributes.inode) {
            durableNames[entry.attributes.inode] = (directory, entry.name)
        }
    }

    /// Forgets names that a program is about to remove or rename.
    mutating func forgetDurableNames(at paths: [Path]) {
        for path in paths {
            do throws(Blocked) {
                var inode = InodeNumber.root
                for name in path.names { inode = try mount.engine.knownInode(name, in: inode) }
                durableNames[inode] = nil
            } catch {
                if case .failure(let error) = error, error.kind == .notFound { continue }
                // The inode cannot be determined without the remote.
                durableNames = [:]
            }
        }
    }

    private mutating func checkDurableNames() throws(ProgramFailure) {
        defer { durableNames = [:] }
        if faultPlan.hadStaleListings { return }
        for (inode, place) in durableNames.sorted(by: { $0.key < $1.key })
        where oracle.isDurable(inode) {
            guard (try? mount.engine.knownInode(place.name, in: place.parent)) == inode else {
                throw ProgramFailure(
                    "I1: the name \"\(place.name)\" of inode \(inode) in directory "
                        + "\(place.parent) was synchronised, and is gone after the power cut")
            }
        }
    }

    /// Mounts again after an orderly end, which loses nothing, even in a later power cut (I6).
    mutating func remount(cutsPower: Bool) async throws {
        for slot in handles.keys.sorted() { close(slot) }
        var names: [(InodeNumber, [DirectoryEntry])] = []
        var directories = [InodeNumber.root]
        while let directory = directories.popLast() {
            let entries = mount.engine.knownEntries(of: directory)
            names.append((directory, entries))
            directories += entries.filter { $0.attributes.kind == .directory }
                .map(\.attributes.inode)
        }
        if await mount.stop() != nil, !hadDiskFaults {
            oracle.noteOrderlyEnd()
            for (directory, entries) in names { keep(entries, in: directory) }
        }
        isPowerCut = isPowerCut || cutsPower
        try await restart()
    }

    mutating func restart(recoveryDeath: Int? = nil) async throws {
        let hasPower = !isPowerCut
        if !hasPower { hadPowerCuts = true }
        if hasPower { await mount.kill() } else { await mount.cutPower() }
        isPowerCut = false
        mount.setDiskFaults(DiskFaultPlan())
        try mount.check()
        handles = [:]
        try await mount.startAgain(dyingBeforeStep: recoveryDeath)
        if !hasPower {
            try checkDurableNames()
            try await takeStock()
        }
    }

    /// Checks after a power cut that all synced bytes are present (I1), and that no file holds
    /// bytes that none ever held.
    private mutating func takeStock() async throws {
        FaultPlan().apply(to: mount.provider)
        let everything = mount.provider.everyContent()
        var found: [InodeNumber: [UInt8]] = [:]
        var incomplete: Set<InodeNumber> = []
        var directories = [InodeNumber.root]
        while let directory = directories.popLast() {
            // It may have been replaced on the remote since.
            let entries = try? await mount.engine.allEntries(of: directory)
            for entry in entries ?? [] {
                let inode = entry.attributes.inode
                switch entry.attributes.kind {
                case .directory: directories.append(inode)
                case .symlink: break
                case .file:
                    found[inode] = try await bytes(of: inode)
                    if found[inode] == nil, isBaseLost(of: inode, everything) {
                        incomplete.insert(inode)
                    }
                }
            }
        }
        try oracle.takeStock(found, incomplete: incomplete, everything)
        faultPlan.apply(to: mount.provider)
    }

    /// Whether the remote may have lost the base version of a file, so that its missing bytes
    /// cannot be fetched. A stale listing shows such versions, also of objects that have been
    /// renamed.
    private func isBaseLost(of inode: InodeNumber, _ everything: [SimulatedContent]) -> Bool {
        if faultPlan.hadStaleListings { return true }
        guard let version = try? mount.engine.agreedVersion(of: inode) else { return false }
        return everything.contains { $0.etags.contains(version) && $0.endedBy != nil }
    }

    private func bytes(of inode: InodeNumber) async throws -> [UInt8]? {
        let engine = mount.engine
        do throws(EngineError) {
            try await engine.retrying { () throws(Blocked) in
                try engine.open(inode, access: .read, truncating: false)
            }
            defer { engine.release(inode, access: .read) }
            return try await engine.bytes(of: inode, at: 0, count: 1 << 30)
        } catch {
            mount.log.note("inode \(inode) cannot be read: \(error)")
            if error.kind == .changedRemotely || error.kind == .notFound { return nil }
            throw ProgramFailure("I1: after the power cut: \(error)")
        }
    }
}

extension Engine {
    /// Returns the names of a directory, none if it was never listed.
    fileprivate func knownEntries(of directory: InodeNumber) -> [DirectoryEntry] {
        (try? entries(of: directory, after: 0, limit: .max)) ?? []
    }

    /// Returns the inode of a name, even if its metadata are missing.
    fileprivate func knownInode(
        _ name: FileName, in parent: InodeNumber
    ) throws(Blocked) -> InodeNumber {
        do throws(Blocked) {
            return try lookup(name, in: parent).inode
        } catch {
            if case .awaits(.look(let inode)) = error { return inode }
            throw error
        }
    }
}
