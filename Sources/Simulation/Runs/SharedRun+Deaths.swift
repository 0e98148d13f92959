import Engine

// Deaths of the process and of the machine, and what has to be there after them.

extension SharedRun {
    // MARK: Names that last

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

    /// Notes names that were synchronised. A file's name goes with its bytes, so that it lasts as
    /// long as they do. Where the remote is seen as it was, what it has takes the names' place.
    private mutating func keep(_ names: [DirectoryEntry], in directory: InodeNumber) {
        guard !hadPowerCuts else { return }
        for entry in names where oracle.isDurable(entry.attributes.inode) {
            durableNames[entry.attributes.inode] = (directory, entry.name)
        }
    }

    /// Before a program removes or renames something.
    mutating func forgetDurableNames(at paths: [Path]) {
        for path in paths {
            do throws(Halt) {
                var inode = InodeNumber.root
                for name in path.names { inode = try mount.engine.knownInode(name, in: inode) }
                durableNames[inode] = nil
            } catch {
                if case .failure(let error) = error, error.kind == .notFound { continue }
                // What it is only the remote knows.
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

    /// An orderly end loses nothing, whatever happens to the machine afterwards (I6).
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

    /// After a power cut: all that was synced is there (I1), and no file holds what none ever held.
    private mutating func takeStock() async throws {
        FaultPlan().apply(to: mount.provider)
        let everything = mount.provider.everyContent()
        var found: [InodeNumber: [UInt8]] = [:]
        var incomplete: Set<InodeNumber> = []
        var directories = [InodeNumber.root]
        while let directory = directories.popLast() {
            // One that the remote has replaced since is gone by now.
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

    /// Whether the remote may no longer have the version that a file is based on, in its place: what
    /// of it was never here cannot come any more. A stale listing gives such versions, also those of
    /// what has another name by now.
    private func isBaseLost(of inode: InodeNumber, _ everything: [SimulatedContent]) -> Bool {
        if faultPlan.hadStaleListings { return true }
        guard let version = try? mount.engine.agreedVersion(of: inode) else { return false }
        return everything.contains { $0.etags.contains(version) && $0.endedBy != nil }
    }

    private func bytes(of inode: InodeNumber) async throws -> [UInt8]? {
        let engine = mount.engine
        do throws(EngineError) {
            try await engine.completing { () throws(Halt) in
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
    /// The names of a directory; none where it was not listed yet.
    fileprivate func knownEntries(of directory: InodeNumber) -> [DirectoryEntry] {
        (try? entries(of: directory, after: 0, limit: .max)) ?? []
    }

    /// The inode of a name, whatever else the remote knows of it.
    fileprivate func knownInode(
        _ name: FileName, in parent: InodeNumber
    ) throws(Halt) -> InodeNumber {
        do throws(Halt) {
            return try lookup(name, in: parent).inode
        } catch {
            if case .awaits(.look(let inode)) = error { return inode }
            throw error
        }
    }
}
