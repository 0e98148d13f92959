package import Engine

/// One step of a random program. It stands for itself: dropping others before it leaves it
/// meaningful, if perhaps refused, so that a program can be shortened.
package enum ProgramStep: Hashable, Sendable {
    /// Makes a file and keeps it open for writing in a slot, as all opens do, closing what the slot
    /// held before.
    case create(slot: Int, path: Path, mode: UInt16)
    case open(slot: Int, path: Path, isWriting: Bool, isTruncating: Bool)
    case close(slot: Int)
    /// The bytes come from `seed`.
    case write(slot: Int, offset: Int, count: Int, seed: UInt64)
    case read(slot: Int, offset: Int, count: Int)
    case synchronize(slot: Int)
    case synchronizeDirectory(path: Path)
    case resize(path: Path, size: Int)
    case setMode(path: Path, mode: UInt16)
    /// Gives it, and not what a symbolic link leads to, the time that many seconds after 1970. POSIX:
    /// `utimensat`.
    case setModified(path: Path, seconds: Int64)
    /// Gives an extended attribute bytes that come from `seed`, or removes it.
    case setAttribute(path: Path, name: String, seed: UInt64?)
    case makeDirectory(path: Path)
    case makeSymlink(path: Path, target: String)
    case removeDirectory(path: Path)
    case unlink(path: Path)
    case rename(from: Path, to: Path, replaces: Bool)
    case look(path: Path)
    case list(path: Path)
    case evict(path: Path)
    /// Lets the engine and the remote work.
    case wait(Duration)
    /// Waits for all to be on the remote, for as long as a user's patience lasts.
    case waitForRest
    /// `kill -9` and a new start, which may die as well, before its n-th step.
    case kill(recoveryDeath: Int?)
    /// `kill -9` before the n-th thing that the process is about to do to disk, database or remote.
    case killSoon(steps: Int)
    /// Unmounts in order, whatever is pending, and mounts again.
    ///
    /// - Parameter cutsPower: Whether the power goes in between.
    case remount(cutsPower: Bool)
    /// The power goes, now or before the n-th step.
    case cutPower(steps: Int?)
    /// Some of the next operations of the local disk fail, or find it full.
    case failDisk(isFull: Bool, after: Int, count: Int)
    case setFaults(perMille: Int)
    case setReachable(Bool)
    /// One kind of fault only.
    case setFault(SimulatedProviderFaults.Kind, perMille: Int)
    case setAuthorized(Bool)
    /// Moves the time of day, not the time that passes.
    case jumpWall(Duration)
    /// Another client of the same remote; see ``OtherClientStep``.
    case otherClient(OtherClientStep)
}

/// What another client does to the remote, at once.
package enum OtherClientStep: Hashable, Sendable {
    case write(path: Path, count: Int, seed: UInt64)
    case makeDirectory(path: Path)
    case delete(path: Path)
    /// Deletes it with all below it.
    case deleteTree(path: Path)
    /// Deletes it with all below it, and makes a directory in its place.
    case replaceByDirectory(path: Path)
    case rename(from: Path, to: Path)
    case setAttribute(path: Path, name: String, seed: UInt64?)
}

/// A path from the root of the mount, printed as people write it.
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
