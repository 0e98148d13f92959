package import Engine

/// One step of a random program. It is independent of the steps before it: if they are removed to
/// shorten the program, it may be refused, but keeps its meaning.
package enum ProgramStep: Hashable, Sendable {
    /// Creates a file and keeps it open for writing in a slot. Like every open, it closes the
    /// slot's previous file.
    case create(slot: Int, path: Path, mode: UInt16)
    case open(slot: Int, path: Path, isWriting: Bool, isTruncating: Bool)
    case close(slot: Int)
    /// Writes bytes drawn from `seed`.
    case write(slot: Int, offset: Int, count: Int, seed: UInt64)
    case read(slot: Int, offset: Int, count: Int)
    case synchronize(slot: Int)
    case synchronizeDirectory(path: Path)
    case resize(path: Path, size: Int)
    case setMode(path: Path, mode: UInt16)
    /// Sets the modification time, in seconds since 1970, without following a symbolic link. POSIX:
    /// `utimensat`.
    case setModified(path: Path, seconds: Int64)
    /// Sets an extended attribute to bytes drawn from `seed`, or removes it.
    case setAttribute(path: Path, name: String, seed: UInt64?)
    case makeDirectory(path: Path)
    case makeSymlink(path: Path, target: String)
    case removeDirectory(path: Path)
    case unlink(path: Path)
    case rename(from: Path, to: Path, replaces: Bool)
    case look(path: Path)
    case list(path: Path)
    case evict(path: Path)
    /// Pins or unpins, as a program sets the attribute.
    case pin(path: Path, isPinned: Bool)
    /// Gives the engine and the remote time to work.
    case wait(Duration)
    /// Waits until all changes are uploaded, but no longer than a user would.
    case waitForRest
    /// `kill -9` and a restart, which may die before its n-th step.
    case kill(recoveryDeath: Int?)
    /// `kill -9` before the n-th operation of disk, database or remote from now on.
    case killSoon(steps: Int)
    /// Unmounts in order, with changes pending, and mounts again.
    ///
    /// - Parameter cutsPower: Whether the power is cut in between.
    case remount(cutsPower: Bool)
    /// Cuts the power, now or before the n-th step.
    case cutPower(steps: Int?)
    /// Makes some of the next operations of the local disk fail or find it full.
    case failDisk(isFull: Bool, after: Int, count: Int)
    /// Makes some of the next syncs of content files fail: their bytes stay readable, but are lost in a
    /// power cut, and the next sync of a file opened later succeeds.
    case failSync(after: Int, count: Int)
    case setFaults(perMille: Int)
    case setReachable(Bool)
    /// One kind of fault only.
    case setFault(SimulatedProviderFaults.Kind, perMille: Int)
    case setAuthorized(Bool)
    /// Changes the time of day, but not the uptime.
    case jumpWall(Duration)
    /// A step of another client of the same remote.
    case otherClient(OtherClientStep)
}

/// An immediate change of the remote by another client.
package enum OtherClientStep: Hashable, Sendable {
    case write(path: Path, count: Int, seed: UInt64)
    /// Replaces a file by one of the same size and time.
    case overwrite(path: Path, seed: UInt64)
    case makeDirectory(path: Path)
    case delete(path: Path)
    /// Deletes an object with all its descendants.
    case deleteTree(path: Path)
    /// Replaces an object and its descendants by a directory.
    case replaceByDirectory(path: Path)
    case rename(from: Path, to: Path)
    case setAttribute(path: Path, name: String, seed: UInt64?)
}

extension OtherClientStep {
    /// Applies the step to the remote, if it is possible.
    func apply(to provider: SimulatedProvider) {
        switch self {
        case .write(let path, let count, let seed):
            _ = try? provider.otherClientWrites(path.key, ProgramBytes.make(count, seed: seed))
        case .overwrite(let path, let seed):
            try? provider.otherClientOverwrites(path.key, seed: seed)
        case .makeDirectory(let path): _ = try? provider.otherClientMakesDirectory(path.key)
        case .delete(let path): try? provider.otherClientDeletes(path.key)
        case .deleteTree(let path): try? provider.otherClientDeletesTree(path.key)
        case .replaceByDirectory(let path):
            guard (try? provider.otherClientDeletesTree(path.key)) != nil else { return }
            _ = try? provider.otherClientMakesDirectory(path.key)
        case .rename(let from, let to): try? provider.otherClientRenames(from.key, to: to.key)
        case .setAttribute(let path, let name, let seed):
            // The mount cannot notice a change of attributes that are not in listings.
            guard provider.settings.listsMetadata else { return }
            try? provider.otherClientSets(
                Array(name.utf8), of: path.key, to: seed.map(ProgramBytes.attribute))
        }
    }
}

/// A path below the root of the mount.
package struct Path: Hashable, Sendable, CustomStringConvertible {
    package var names: [FileName]

    package init(_ names: [FileName]) {
        self.names = names
    }

    /// - Parameter text: Valid names with `/` between them.
    package init(_ text: String) {
        names = text.split(separator: "/").compactMap { FileName(String($0)) }
    }

    package var parent: Path { Path(names.dropLast()) }

    package var key: ObjectKey { ObjectKey(names) }

    package func appending(_ name: FileName) -> Path { Path(names + [name]) }

    package var description: String {
        "\"\(names.map(\.description).joined(separator: "/"))\""
    }
}
