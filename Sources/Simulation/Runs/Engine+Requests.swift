import Engine

// MARK: - Paths, followed as the kernel follows them

func find(_ path: Path, _ engine: Engine) async throws(EngineError) -> InodeNumber {
    var inode = InodeNumber.root
    for name in path.names {
        let parent = inode
        inode = try await engine.retrying { () throws(Blocked) in
            try engine.lookup(name, in: parent).inode
        }
    }
    return inode
}

/// Returns the last name of a path and its parent directory.
func place(
    _ path: Path, _ engine: Engine
) async throws(EngineError) -> (FileName, InodeNumber) {
    guard let name = path.names.last else { throw EngineError(.invalid, "change the root") }
    return (name, try await find(path.parent, engine))
}

// MARK: - Whole answers

extension Engine {
    /// Returns the attributes of a named item.
    ///
    /// - Throws: `.notFound`, `.notDirectory`.
    func lookup(
        _ name: FileName, in parent: InodeNumber
    ) throws(Blocked) -> Attributes {
        guard let attributes = try find(name, in: parent) else {
            throw .failure(EngineError(.notFound, "find \"\(name)\" in inode \(parent)"))
        }
        return attributes
    }

    /// Returns the inode of a name, if it exists.
    func existing(
        _ name: FileName, in parent: InodeNumber
    ) throws(Blocked) -> InodeNumber? {
        do throws(Blocked) {
            return try lookup(name, in: parent).inode
        } catch {
            if case .failure(let failure) = error, failure.kind == .notFound { return nil }
            throw error
        }
    }

    /// Reads as the kernel does, in several requests if a read is short.
    func bytes(
        of inode: InodeNumber, at offset: Int, count: Int, access: FileAccess = .read
    ) async throws(EngineError) -> [UInt8] {
        try await retrying { () throws(Blocked) in
            let range = try read(inode, at: UInt64(offset), length: count, access: access)
            do throws(DiskError) {
                return try range.file.read(range.count, at: UInt64(offset))
            } catch {
                throw .failure(EngineError(.failed, "read the content file", cause: error))
            }
        }
    }

    /// Opens a file and returns all its bytes.
    func content(of inode: InodeNumber) async throws(EngineError) -> [UInt8] {
        try await retrying { () throws(Blocked) in
            try open(inode, access: .read, truncating: false)
        }
        defer { release(inode, access: .read) }
        return try await bytes(of: inode, at: 0, count: 1 << 30)
    }

    /// Returns all entries of a directory, in small pages.
    func allEntries(of directory: InodeNumber) async throws(EngineError) -> [DirectoryEntry] {
        var all: [DirectoryEntry] = []
        while true {
            let cookie = all.last?.cookie ?? 0
            let page = try await retrying { () throws(Blocked) in
                if cookie == 0 { try refreshes.requireFirstLook(at: directory) }
                return try entries(of: directory, after: cookie, limit: 3)
            }
            if page.isEmpty { return all }
            all += page
        }
    }
}

extension Caller {
    /// The user of the programs.
    static let test = Caller(userID: 1_000, groupID: 1_000)
}
