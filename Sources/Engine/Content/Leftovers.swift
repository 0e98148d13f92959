import GRDB
import Logging
import Synchronization

/// Content files that the database does not need after a start: the end of the process before came between
/// the database and the disk, or the database has lost its latest changes.
///
/// They are cleared away once, in the background. Until then the space that they take is counted nowhere.
final class Leftovers: Sendable {
    private struct State {
        /// The directories to be looked at.
        var folders = [StateFiles.contentFolder]
        var kept = 0
    }

    private let store: Store
    private let disk: any Disk
    private let logger: Logger
    private let files: OpenFileTable
    private let lostAndFound: LostAndFound
    /// The maximum of bytes that are fetched before all leftovers are gone.
    private let bytesMax: UInt64
    private let isGone = Atomic(false)
    /// Bytes that were fetched meanwhile.
    private let bytesAdmitted = Atomic<UInt64>(0)
    /// Held during a step: requests that need the space wait for its end.
    private let state = Locked(State())

    init(
        store: Store, disk: any Disk, logger: Logger, files: OpenFileTable,
        lostAndFound: LostAndFound, bytesMax: UInt64
    ) {
        self.store = store
        self.disk = disk
        self.logger = logger
        self.files = files
        self.lostAndFound = lostAndFound
        self.bytesMax = bytesMax
    }

    /// Clears them away, in steps.
    func run() async {
        while !Task.isCancelled, clearNext() { await Task.yield() }
    }

    /// Clears them away first if the cache could otherwise exceed its bound by more than a little. No lock
    /// may be held.
    func makeWay(for bytes: UInt64) {
        guard !isGone.load(ordering: .acquiring) else { return }
        if bytesAdmitted.add(bytes, ordering: .relaxed).newValue > bytesMax { _ = clear() }
    }

    /// Clears them away now, as space is short. No lock may be held.
    ///
    /// - Returns: Whether there may have been any.
    func clear() -> Bool {
        guard !isGone.load(ordering: .acquiring) else { return false }
        while !Task.isCancelled, clearNext() {}
        return true
    }

    /// The files looked at with one query.
    private static var pageFiles: Int { 1_000 }

    /// Clears one directory. Failures are logged, and left to the next start.
    ///
    /// - Returns: Whether there are more.
    private func clearNext() -> Bool {
        state.withLock { state in
            guard let folder = state.folders.popLast() else {
                finish(&state)
                return false
            }
            do throws(Blocked) {
                let found = try onDisk("list \(folder)", do: disk.contents(of: folder))
                state.folders += found.directories
                // Neighbours in the database.
                let content = found.files.map { ($0, StateFiles.inode(ofContentAt: $0)) }
                    .sorted { ($0.1?.rawValue ?? 0) < ($1.1?.rawValue ?? 0) }
                for page in content.pieces(of: Self.pageFiles) {
                    let leftovers = try store.read { database in
                        try page.filter { try database.use(ofContentOf: $0.1) != .needed }
                    }
                    for (path, inode) in leftovers where clear(path, of: inode) { state.kept += 1 }
                }
            } catch {
                logger.warning(
                    "content files not examined",
                    metadata: ["folder": "\(folder)", "reason": "\(error)"])
            }
            return true
        }
    }

    private func finish(_ state: inout State) {
        guard !isGone.exchange(true, ordering: .acquiringAndReleasing), state.kept > 0 else {
            return
        }
        logger.warning(
            "content without a name kept",
            metadata: ["files": "\(state.kept)", "folder": "\(StateFiles.lostFolder)"])
    }

    /// Removes a content file that was left. One that is not known to be on the remote is kept.
    ///
    /// - Returns: Whether it was kept.
    private func clear(_ path: DiskPath, of inode: InodeNumber?) -> Bool {
        do throws(Blocked) {
            guard let inode else { return try lostAndFound.keep(path, of: nil) }
            return try files.withExclusive(inode) { () throws(Blocked) in
                switch try store.read({ try $0.use(ofContentOf: inode) }) {
                case .needed: return false
                case .none:
                    try onDisk("remove a leftover of a crash", do: disk.remove(path))
                    return false
                case .unknown: return try lostAndFound.keep(path, of: inode)
                }
            } ?? false  // Its last user removes it.
        } catch {
            logger.warning(
                "content file not examined", metadata: ["file": "\(path)", "reason": "\(error)"])
            return false
        }
    }
}

/// The use of a content file.
enum ContentUse {
    case needed
    /// The remote has all of its bytes.
    case none
    /// Nothing is known of its bytes.
    case unknown
}

extension Database {
    func use(ofContentOf inode: InodeNumber?) throws -> ContentUse {
        guard let record = try inode.flatMap({ try self.inode($0) }), record.kind == .file else {
            return .unknown
        }
        if record.presence != .remote { return .needed }
        return try isChangedHere(record) ? .unknown : .none
    }
}
