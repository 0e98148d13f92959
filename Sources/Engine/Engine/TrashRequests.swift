extension Engine {
    package var trash: TrashRequests { TrashRequests(engine: self) }
}

/// Requests of users about files that were deleted on the remote, and are kept in the trash.
package struct TrashRequests: Sendable {
    fileprivate let engine: Engine

    private var local: LocalParts { engine.local }
    private var store: Store { engine.store }

    /// A file that is back, or could not be brought back.
    package struct Outcome: Hashable, Sendable {
        package enum Result: Hashable, Sendable {
            /// It is back at this path.
            ///
            /// - Parameter isRenamed: Whether its name, or that of a folder, was taken.
            case restored(to: String, isRenamed: Bool)
            case failed(SyncFailure)
        }

        /// The path that it had, from the mount point on.
        package var path: String
        package var size: UInt64
        package var result: Result
    }

    /// Returns files that were at or below a path, see ``Trash/files(below:after:limit:)``.
    package func files(
        below path: String, after position: Int64, limit: Int
    ) throws(EngineError) -> (files: [TrashedFile], next: Int64?) {
        let key = try Self.key(path)
        return try completed(
            do: local.trash.files(below: key, after: position, limit: limit))
    }

    /// Brings back what was deleted at or below a path: the last deletion, and those before it with less
    /// than a minute in between; of several files that had one path the last one. They are new local files,
    /// in folders that are made if necessary, and are uploaded. Nothing is replaced: if a name is
    /// taken, a free one is chosen.
    ///
    /// - Parameters:
    ///   - directory: The path of the folder that gets what was at the path; nil for the former one.
    ///   - isAll: Whether to bring back everything that is in the trash, however long ago it was deleted.
    ///   - report: Receives each file.
    /// - Throws: `.notFound` if there is nothing of that path in the trash; `.readOnly`; errors of
    ///   listings, after which the others are still in the trash.
    package func restore(
        below path: String, to directory: String? = nil, isAll: Bool = false,
        report: (Outcome) -> Void
    ) async throws(EngineError) {
        let key = try Self.key(path)
        let burst = try completed { () throws(Blocked) in
            try engine.configuration.requireWritable("restore \"\(path)\"")
            // Content files without an inode are cleared away once after each start.
            _ = local.space.unneeded.leftovers.clear()
            return try store.read { try $0.trashBurst(below: key, isAll: isAll) }
        }
        guard let burst else {
            throw EngineError(
                .notFound, "find \"\(path)\" in the trash",
                remedy: "`apus trash list` shows what is in it")
        }
        var folders = RestoredFolders(
            engine: engine, from: directory == nil ? .root : key.parent ?? .root,
            to: try Self.key(directory ?? ""))
        var last: Int64 = 0
        while true {
            if Task.isCancelled { throw EngineError(.interrupted, "restore \"\(path)\"") }
            let page = try completed { () throws(Blocked) in
                try store.read {
                    try $0.trash(
                        in: burst, after: last, limit: engine.configuration.removalsMax)
                }
            }
            guard let end = page.last else { return }
            last = end.position
            try await restore(page, &folders).forEach(report)
        }
    }

    private static func key(_ path: String) throws(EngineError) -> ObjectKey {
        var names: [FileName] = []
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard let name = FileName(Array(part)) else {
                throw EngineError(.notFound, "find \"\(path)\"")
            }
            names.append(name)
        }
        return ObjectKey(names)
    }

    /// Moves files to the trash that are still on the way there, as their bytes wait for the disk.
    private func finishMoving(_ page: [TrashRecord]) throws(Blocked) {
        let waiting = try store.read { database in
            try page.map(\.inode).filter(database.isMovingToTrash)
        }
        guard !waiting.isEmpty else { return }
        local.reaper.reap(waiting)
        _ = try local.space.unneeded.flusher.removeUnlinked()
    }

    private func restore(
        _ page: [TrashRecord], _ folders: inout RestoredFolders
    ) async throws(EngineError) -> [Outcome] {
        var places: [Int64: RestoredFolders.Folder] = [:]
        for record in page {
            places[record.position] = try await folders.folder(of: record.path)
        }
        return try await engine.retrying { () throws(Blocked) in
            try finishMoving(page)
            let taken = try local.trash.take(page.map(\.position))
            let files = taken.files.compactMap { file in
                places[file.record.position].flatMap { place in
                    file.record.path.names.last.map { name in
                        RestoredFile(
                            record: file.record, bytes: file.bytes, parent: place.inode,
                            name: name)
                    }
                }
            }
            do throws(Blocked) {
                let names = try local.tree.restore(files)
                local.kernelCache.announce(
                    zip(files, names).flatMap { [.name($1, $0.parent), .inode($0.parent)] })
                // They may be below a pinned directory.
                local.pins.signal.notify()
                let restored = zip(files, names).compactMap { file, name in
                    places[file.record.position].map { Outcome(file.record, in: $0, as: name) }
                }
                return restored + taken.missing.map { Outcome($0, .failed(.gone($0))) }
                    + taken.inUse.map { Outcome($0, .failed(.inUse($0))) }
            } catch {
                local.trash.putBack(taken.files.map(\.record))
                throw error
            }
        }
    }
}

extension TrashRequests.Outcome {
    fileprivate init(_ record: TrashRecord, _ result: Result) {
        self.init(path: record.path.description, size: record.size, result: result)
    }

    fileprivate init(
        _ record: TrashRecord, in folder: RestoredFolders.Folder, as name: FileName
    ) {
        self.init(
            record,
            .restored(
                to: folder.path.appending(name).description,
                isRenamed: folder.path != folder.wanted || name != record.path.names.last))
    }
}

extension SyncFailure {
    fileprivate static func gone(_ record: TrashRecord) -> SyncFailure {
        SyncFailure(
            kind: .notFound, what: "restore \"\(record.path)\"",
            why: "its bytes are no longer in the trash", isFinal: true)
    }

    fileprivate static func inUse(_ record: TrashRecord) -> SyncFailure {
        SyncFailure(
            kind: .busy, what: "restore \"\(record.path)\"", why: "a program has it open",
            remedy: "close it, or copy its content in that program", isFinal: false)
    }
}

/// The folders in which files from the trash are restored; makes missing ones.
private struct RestoredFolders {
    struct Folder {
        /// The path that it should have.
        var wanted: ObjectKey
        var path: ObjectKey
        var inode: InodeNumber
    }

    private let engine: Engine
    /// The paths of the files begin with this one, which is replaced by the other one.
    private let from: ObjectKey
    private let to: ObjectKey
    /// The paths of folders that could not get their own, as something else has it.
    private var renamed: [ObjectKey: ObjectKey] = [:]
    /// The folder of the file before.
    private var last: Folder?

    init(engine: Engine, from: ObjectKey, to: ObjectKey) {
        self.engine = engine
        self.from = from
        self.to = to
    }

    /// Returns the folder for the file that had a path.
    mutating func folder(of file: ObjectKey) async throws(EngineError) -> Folder {
        let wanted = ObjectKey(
            to.names + file.names.dropLast().dropFirst(from.names.count))
        if let last, last.wanted == wanted { return last }
        var (inode, path) = (InodeNumber.root, ObjectKey.root)
        for name in wanted.names {
            let child = path.appending(name)
            let found = try await folder(renamed[child]?.names.last ?? name, in: inode)
            if found.name != name { renamed[child] = path.appending(found.name) }
            (inode, path) = (found.inode, path.appending(found.name))
        }
        let folder = Folder(wanted: wanted, path: path, inode: inode)
        last = folder
        return folder
    }

    private func folder(
        _ name: FileName, in parent: InodeNumber
    ) async throws(EngineError) -> (inode: InodeNumber, name: FileName) {
        let local = engine.local
        return try await engine.retrying { () throws(Blocked) in
            if let found = try engine.find(name, in: parent), found.kind == .directory {
                return (found.inode, name)
            }
            let free = try engine.store.read {
                try local.tree.freeName(name, in: parent, $0)
            }
            let made = try local.tree.createDirectory(
                free, in: parent, mode: engine.configuration.directoryMode,
                caller: engine.configuration.owner)
            local.kernelCache.announce([.name(free, parent), .inode(parent)])
            return (made.inode, free)
        }
    }
}
