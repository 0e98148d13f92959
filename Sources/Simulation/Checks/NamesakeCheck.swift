import Engine

/// Follows the advice of the status until no name is left that the remote takes for another one.
struct NamesakeCheck {
    private static let renamesMax = 60

    let mount: SimulatedMount

    /// Renames files and directories that cannot be sent beside a namesake.
    ///
    /// - Throws: ``ProgramFailure`` if there is no end to it.
    func renameAll() async throws {
        guard mount.provider.traits.names.isFolding else { return }
        try await mount.endFaults()
        for number in 0..<Self.renamesMax {
            guard let (name, parent) = try await refused() else { return }
            guard let free = FileName("renamed \(number)") else { return }
            mount.log.note("--- \(name) in \(parent) is renamed to \(free)")
            do throws(EngineError) {
                try await mount.engine.retrying { () throws(Blocked) in
                    try mount.engine.rename(
                        name, in: parent, to: free, in: parent, mode: .noReplace)
                }
            } catch {
                // The other client has removed it meanwhile, or an earlier call gave the name away.
                guard [.notFound, .exists].contains(error.kind) else { throw error }
            }
        }
        throw ProgramFailure("I7: renaming does not help: \(try items())")
    }

    private func items() throws -> [PendingItem] {
        try mount.engine.status(below: .root, limit: 1_000).items
    }

    /// Returns a refused name once nothing else is left to send; nil if there is none.
    private func refused() async throws -> (name: FileName, parent: InodeNumber)? {
        let deadline = mount.clock.uptime + .seconds(3_600)
        while mount.clock.uptime < deadline {
            let items = try items()
            if items.allSatisfy(isFinal) {
                guard let item = items.first(where: isRefused) else { return nil }
                if let place = try await place(of: item.inode) { return place }
            }
            try await mount.clock.sleep(until: mount.clock.uptime + .milliseconds(500))
        }
        return nil
    }

    private func isRefused(_ item: PendingItem) -> Bool {
        item.failure?.what == "store \"\(item.path)\""
    }

    /// Whether an item has failed since it got its name.
    private func isFinal(_ item: PendingItem) -> Bool {
        guard let failure = item.failure, failure.isFinal else { return false }
        return isRefused(item) || !failure.what.hasPrefix("store ")
    }

    private func place(
        of inode: InodeNumber
    ) async throws -> (name: FileName, parent: InodeNumber)? {
        var directories = [InodeNumber.root]
        while let directory = directories.popLast() {
            let entries = (try? await mount.engine.allEntries(of: directory)) ?? []
            if let entry = entries.first(where: { $0.attributes.inode == inode }) {
                return (entry.name, directory)
            }
            directories += entries.filter { $0.attributes.kind == .directory }
                .map(\.attributes.inode)
        }
        return nil
    }

    /// Returns what the remote has, in the spelling of the mounted tree.
    ///
    /// - Throws: ``ProgramFailure`` if a directory that is shown cannot be listed: the other client
    ///   may have removed it.
    func spelledAsHere<Value>(_ remote: [ObjectKey: Value]) async throws -> [ObjectKey: Value] {
        let names = mount.provider.traits.names
        guard names.isFolding else { return remote }
        var here: [ObjectKey: ObjectKey] = [:]
        var directories = [(InodeNumber.root, ObjectKey.root)]
        while let (directory, key) = directories.popLast() {
            for entry in try await entries(of: directory, at: key) {
                let path = key.appending(entry.name)
                here[names.key(of: path)] = path
                if entry.attributes.kind == .directory {
                    directories.append((entry.attributes.inode, path))
                }
            }
        }
        return Dictionary(
            uniqueKeysWithValues: remote.map { key, value in
                var known = key
                while here[names.key(of: known)] == nil, let parent = known.parent {
                    known = parent
                }
                let spelled = here[names.key(of: known)] ?? known
                return (
                    ObjectKey(spelled.names + key.names.dropFirst(known.names.count)), value
                )
            })
    }

    private func entries(
        of directory: InodeNumber, at key: ObjectKey
    ) async throws(ProgramFailure) -> [DirectoryEntry] {
        do throws(EngineError) {
            return try await mount.engine.allEntries(of: directory)
        } catch {
            throw ProgramFailure("cannot list \(key): \(error)")
        }
    }
}
