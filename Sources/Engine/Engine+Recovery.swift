import GRDB
import Logging

extension Engine {
    /// Brings the state of an engine that ended somehow into order, before anything else happens.
    func recover() throws(Halt) {
        try identify()
        #if BUGS
            if DeliberateBug.forgetRenamesAtStart.isMade {
                try store.write { try $0.execute(sql: Self.forgetRenames) }
            }
        #endif
        try recoverFromPowerCut()
        try recoverWrites()
        try recoverDeletions()
        try clearAway()
    }

    #if BUGS
        private static var forgetRenames: String {
            """
            DELETE FROM pending WHERE inode IN (
                SELECT synced.inode FROM synced JOIN dirents ON dirents.inode = synced.inode
                WHERE synced.name <> dirents.name OR synced.parent <> dirents.parent)
            """
        }
    #endif

    /// Makes the root and this state's salt, or sees to it that the state belongs to this source.
    private func identify() throws(Halt) {
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
                .damaged, "take up the state directory: it belongs to \(known ?? "another source")",
                remedy: "mount that source, or this one with another --state-dir")
        }
    }

    /// Files that were open for writing when the process ended: their content file knows better
    /// than the database (I1).
    private func recoverWrites() throws(Halt) {
        while true {
            let writing = try store.read {
                try $0.inodes(where: "writing = 1", limit: 100)
            }
            if writing.isEmpty { return }
            for inode in writing {
                try finishAbandonedWrite(inode)
                logger.info("write recovered", metadata: ["inode": "\(inode)"])
            }
        }
    }

    /// Clones of uploads that were cut short, and content that nothing needs: a crash came between
    /// the database and the disk. What is not known to be on the remote, or to be a clone, is kept.
    private func clearAway() throws(Halt) {
        var kept = 0
        for path in try paths(below: StateFiles.contentFolder) {
            let inode = OpenFile.inode(at: path)
            switch try store.read({ try $0.use(ofContentOf: inode) }) {
            case .needed: continue
            case .none: try removeLeftover(path)
            // Where a power cut has taken its row back, its number will be given out again.
            case .unknown: if try keepInLostAndFound(path, of: inode) { kept += 1 }
            }
        }
        for path in try paths(below: StateFiles.frozenFolder) {
            if StateFiles.isClone(path) {
                try removeLeftover(path)
            } else if try keepInLostAndFound(path, of: nil) {
                kept += 1
            }
        }
        if kept > 0 {
            logger.warning(
                "content without a name kept",
                metadata: ["files": "\(kept)", "folder": "\(StateFiles.lostFolder)"])
        }
    }

    private func paths(below folder: DiskPath) throws(Halt) -> [DiskPath] {
        try onDisk("look through \(folder)") { () throws(DiskError) in
            try disk.files(below: folder)
        }
    }

    private func removeLeftover(_ path: DiskPath) throws(Halt) {
        try onDisk("remove what a crash has left") { () throws(DiskError) in
            try disk.remove(path)
        }
    }

    /// Gives a file the size and time of its content file and counts a new version.
    func finishAbandonedWrite(_ inode: InodeNumber) throws(Halt) {
        let status = try onDisk("look at the content of inode \(inode)") { () throws(DiskError) in
            try disk.open(OpenFile.path(of: inode)).status()
        }
        try store.write { database in
            guard var record = try database.inode(inode), record.isWriting else { return }
            // A partial file's size is written along with its extents; its content file may be
            // longer or shorter.
            if record.presence == .whole { record.size = status.size }
            record.isWriting = false
            // A handle that could write, and did not, changed nothing.
            #if BUGS
                if DeliberateBug.forgetWritesAtStart.isMade {
                    return try database.update(record)
                }
            #endif
            // Nor did one of which nothing is here: what changes it is noted with it.
            if record.presence != .remote, try database.isPending(inode) {
                record.modified = max(record.modified, status.modified)
                record.generation += 1
            }
            try database.update(record)
        }
    }

    /// Runs disk work, turning its failures into the engine's.
    func onDisk<Value>(
        _ attempt: @autoclosure () -> String, _ body: () throws(DiskError) -> Value
    ) throws(Halt) -> Value {
        do throws(DiskError) {
            return try body()
        } catch {
            throw .failure(EngineError(error, attempt()))
        }
    }
}

/// What a content file is there for.
private enum ContentUse {
    case needed
    /// The remote has all that was in it.
    case none
    /// Nobody knows what is in it.
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

    /// What tells names that this mount makes up from those of other mounts.
    func salt() throws -> String {
        try String.fetchOne(
            cachedStatement(sql: "SELECT value FROM settings WHERE key = 'salt'")) ?? ""
    }
}
