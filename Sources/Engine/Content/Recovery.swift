import GRDB
import Logging

/// Repairs the state left by an ended or killed process, before the engine is used.
struct Recovery: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let content: ContentStore
    let lostAndFound: LostAndFound
}

extension Recovery {
    /// Repairs the state of the previous engine, however it ended.
    func run() throws(Blocked) {
        try identify()
        try recoverFromPowerCut()
        try recoverWrites()
        try clearAway()
    }

    /// Creates the root and the salt of a new state, or verifies that an existing one belongs to
    /// this source.
    private func identify() throws(Blocked) {
        let now = clock.wallTime
        let source = configuration.source
        let known = try store.write { database in
            if try database.inode(.root) == nil {
                var root = InodeRecord(
                    kind: .directory, mode: configuration.directoryMode,
                    owner: configuration.owner, size: 0, modified: now, changed: now)
                try database.insert(&root)
                precondition(root.id == .root, "the root is not the first inode")
            }
            try database.execute(
                sql: "INSERT INTO settings VALUES ('source', ?) ON CONFLICT (key) DO NOTHING",
                arguments: [source])
            if try database.salt().isEmpty {
                try database.execute(
                    sql: "INSERT INTO settings VALUES ('salt', ?)",
                    arguments: [String(random() & 0xFFFF_FFFF, radix: 16)])
            }
            return try String.fetchOne(
                database, sql: "SELECT value FROM settings WHERE key = 'source'")
        }
        guard known == source else {
            throw .failure(
                .damaged, "use the state directory: it belongs to \(known ?? "another source")",
                remedy: "mount that source, or this one with another --state-dir")
        }
    }

    /// Recovers files that were open for writing when the process ended: their content file is
    /// newer than the database (I1).
    private func recoverWrites() throws(Blocked) {
        while true {
            let writing = try store.read {
                try $0.inodes(where: "writing = 1", limit: 100)
            }
            if writing.isEmpty { return }
            for inode in writing {
                try content.finishAbandonedWrite(inode)
                logger.info("write recovered", metadata: ["inode": "\(inode)"])
            }
        }
    }

    /// Removes clones of interrupted uploads, and content that was left because a crash came
    /// between the database and the disk. Content that is neither known to be on the remote nor a
    /// clone is kept.
    private func clearAway() throws(Blocked) {
        var kept = 0
        for path in try paths(below: StateFiles.contentFolder) {
            let inode = StateFiles.inode(ofContentAt: path)
            switch try store.read({ try $0.use(ofContentOf: inode) }) {
            case .needed: continue
            case .none: try removeLeftover(path)
            // If a power cut has lost its row, its number will be reused.
            case .unknown: if try lostAndFound.keep(path, of: inode) { kept += 1 }
            }
        }
        for path in try paths(below: StateFiles.frozenFolder) {
            if StateFiles.isClone(path) {
                try removeLeftover(path)
            } else if try lostAndFound.keep(path, of: nil) {
                kept += 1
            }
        }
        if kept > 0 {
            logger.warning(
                "content without a name kept",
                metadata: ["files": "\(kept)", "folder": "\(StateFiles.lostFolder)"])
        }
    }

    private func paths(below folder: DiskPath) throws(Blocked) -> [DiskPath] {
        try onDisk("list \(folder)") { () throws(DiskError) in
            try disk.files(below: folder)
        }
    }

    private func removeLeftover(_ path: DiskPath) throws(Blocked) {
        try onDisk("remove a leftover of a crash") { () throws(DiskError) in
            try disk.remove(path)
        }
    }
}

/// The use of a content file.
private enum ContentUse {
    case needed
    /// The remote has all of its bytes.
    case none
    /// Nothing is known of its bytes.
    case unknown
}
extension Database {
    fileprivate func use(ofContentOf inode: InodeNumber?) throws -> ContentUse {
        guard let record = try inode.flatMap({ try self.inode($0) }), record.kind == .file else {
            return .unknown
        }
        if record.presence != .remote { return .needed }
        return try isChangedHere(record) ? .unknown : .none
    }
}
