import GRDB
import Logging
import Synchronization

/// Content files that the database does not need after a start: the end of the process before came between
/// the database and the disk, or the database has lost its latest changes.
///
/// They are cleared away once, in the background. Nothing waits for that, unless the disk is full: until
/// then, an estimate of the space that they take is counted.
final class Leftovers: Sendable {
    private struct State {
        /// The directories to be looked at.
        var folders = [StateFiles.contentFolder]
        /// The most that there were.
        var foldersMax = 1
        var kept = 0
    }

    /// What may be left.
    private struct Estimate {
        /// The bytes that the cache could hold at the start beside those that the database knows; nil
        /// before the first fetch.
        var bytesMax: UInt64?
        /// The share of the folders that were not looked at. The number of an inode decides on its folder,
        /// so that all have about as much.
        var share = 1.0
    }

    private let store: Store
    private let disk: any Disk
    private let logger: Logger
    private let files: OpenFileTable
    private let lostAndFound: LostAndFound
    /// By how much leftovers may exceed the bound of the cache.
    private let bytesMax: UInt64
    private let isGone = Atomic(false)
    private let estimate = Mutex(Estimate())
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

    /// Returns how much space is to be left for those that were not found yet: together with what the
    /// database knew at the start they were within the bound of the cache.
    ///
    /// - Parameter local: The bytes that the database knows.
    func unseenBytes(
        bound: UInt64, local: () throws(Blocked) -> UInt64
    ) throws(Blocked) -> UInt64 {
        guard !isGone.load(ordering: .acquiring) else { return 0 }
        if estimate.withLock(\.bytesMax) == nil {
            let local = try local()
            estimate.withLock { $0.bytesMax = bound - min(bound, local) }
        }
        let bytes = estimate.withLock { UInt64(Double($0.bytesMax ?? 0) * $0.share) }
        return bytes - min(bytes, bytesMax)
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
            defer {
                let share = Double(state.folders.count) / Double(state.foldersMax)
                estimate.withLock { $0.share = min($0.share, share) }
            }
            do throws(Blocked) {
                let found = try onDisk("list \(folder)", do: disk.contents(of: folder))
                state.folders += found.directories
                state.foldersMax = max(state.foldersMax, state.folders.count + 1)
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
