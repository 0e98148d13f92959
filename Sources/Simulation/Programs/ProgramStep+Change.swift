import Engine

// The steps that change names and attributes, for an engine and for the model.

extension ProgramStep {
    func change(_ engine: Engine) async throws(EngineError) {
        switch self {
        case .resize(let path, let size):
            let inode = try await find(path, engine)
            try await engine.retrying { () throws(Blocked) in
                let kind = try engine.attributes(of: inode).kind
                // The kernel sets the size of files only.
                if kind != .file {
                    throw .failure(
                        EngineError(kind == .directory ? .isDirectory : .invalid, "resize"))
                }
                var change = AttributeChange()
                change.size = UInt64(size)
                change.modified = .now
                _ = try engine.setAttributes(of: inode, to: change)
            }
        case .setMode(let path, let mode):
            let inode = try await find(path, engine)
            try await engine.retrying { () throws(Blocked) in
                // The kernel follows a symbolic link first, which has no mode of its own.
                if try engine.attributes(of: inode).kind == .symlink { return }
                var change = AttributeChange()
                change.mode = mode
                _ = try engine.setAttributes(of: inode, to: change)
            }
        case .setModified(let path, let seconds):
            let inode = try await find(path, engine)
            try await engine.retrying { () throws(Blocked) in
                var change = AttributeChange()
                change.modified = .at(Timestamp(seconds: seconds))
                _ = try engine.setAttributes(of: inode, to: change)
            }
        case .setAttribute(let path, let name, let seed):
            let inode = try await find(path, engine)
            try await engine.retrying { () throws(Blocked) in
                if try engine.attributes(of: inode).kind == .symlink { return }
                try engine.setExtendedAttribute(
                    Array(name.utf8), to: seed.map(ProgramBytes.attribute), of: inode)
            }
        case .rename(let from, let to, let replaces):
            let (name, parent) = try await place(from, engine)
            let (newName, newParent) = try await place(to, engine)
            try await engine.retrying { () throws(Blocked) in
                try engine.rename(
                    name, in: parent, to: newName, in: newParent,
                    mode: replaces ? .replace : .noReplace)
            }
        default: try await changeName(engine)
        }
    }

    private func changeName(_ engine: Engine) async throws(EngineError) {
        guard let path = namedPath else { return }
        let (name, parent) = try await place(path, engine)
        try await engine.retrying { () throws(Blocked) in
            switch self {
            case .makeDirectory:
                _ = try engine.createDirectory(name, in: parent, mode: 0o755, caller: .test)
            case .makeSymlink(_, let target):
                _ = try engine.createSymlink(
                    name, in: parent, target: Array(target.utf8), caller: .test)
            case .removeDirectory: try engine.removeDirectory(name, in: parent)
            case .unlink: try engine.unlink(name, in: parent)
            default: break
            }
        }
    }

    func change(_ model: inout ReferenceModel) throws(ReferenceModel.Refusal) {
        switch self {
        case .resize(let path, let size):
            try model.resize(try model.find(path.names), to: size)
        case .setMode(let path, let mode):
            let node = try model.find(path.names)
            if model[node].kind != .symlink { model.setMode(mode, of: node) }
        case .setModified(let path, let seconds):
            let node = try model.find(path.names)
            if model[node].kind != .directory {
                model.setModified(Timestamp(seconds: seconds), of: node)
            }
        case .setAttribute(let path, let name, let seed):
            let node = try model.find(path.names)
            if model[node].kind == .symlink { return }
            try model.setAttribute(name, to: seed.map(ProgramBytes.attribute), of: node)
        case .rename(let from, let to, let replaces):
            let (name, parent) = try place(from, in: model)
            let (newName, newParent) = try place(to, in: model)
            try model.rename(
                name, in: parent, to: newName, in: newParent, replaces: replaces)
        default: try changeName(&model)
        }
    }

    private func changeName(_ model: inout ReferenceModel) throws(ReferenceModel.Refusal) {
        guard let path = namedPath else { return }
        let (name, parent) = try place(path, in: model)
        switch self {
        case .makeDirectory:
            _ = try model.create(.init(kind: .directory, mode: 0o755), name, in: parent)
        case .makeSymlink(_, let target):
            let node = ReferenceModel.Node(
                kind: .symlink, mode: 0o777, target: Array(target.utf8))
            _ = try model.create(node, name, in: parent)
        case .removeDirectory: try model.removeDirectory(name, in: parent)
        case .unlink: try model.unlink(name, in: parent)
        default: break
        }
    }

    private var namedPath: Path? {
        switch self {
        case .makeDirectory(let path), .makeSymlink(let path, _), .removeDirectory(let path),
            .unlink(let path):
            path
        default: nil
        }
    }
}

extension Path {
    /// Syncs a directory.
    func synchronizeDirectory(_ engine: Engine) async throws(EngineError) {
        let inode = try await find(self, engine)
        try await engine.retrying { () throws(Blocked) in
            guard try engine.attributes(of: inode).kind == .directory else {
                throw .failure(EngineError(.notDirectory, "synchronize a directory"))
            }
            try engine.synchronize(inode)
        }
    }
}

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

func place(
    _ path: Path, in model: ReferenceModel
) throws(ReferenceModel.Refusal) -> (FileName, ReferenceModel.Number) {
    guard let name = path.names.last else { throw ReferenceModel.Refusal(.invalid) }
    return (name, try model.find(path.parent.names))
}

// MARK: - Whole answers

extension Engine {
    /// Reads as the kernel does, in several requests if a read is short.
    func bytes(
        of inode: InodeNumber, at offset: Int, count: Int
    ) async throws(EngineError) -> [UInt8] {
        try await retrying { () throws(Blocked) in
            let range = try read(inode, at: UInt64(offset), length: count)
            do throws(DiskError) {
                return try range.file.read(range.count, at: UInt64(offset))
            } catch {
                throw .failure(EngineError(.failed, "read the content file", cause: error))
            }
        }
    }

    /// Returns all names of a directory, in small pages.
    func names(in directory: InodeNumber) async throws(EngineError) -> [FileName] {
        try await allEntries(of: directory).map(\.name)
    }

    func allEntries(of directory: InodeNumber) async throws(EngineError) -> [DirectoryEntry] {
        var all: [DirectoryEntry] = []
        while true {
            let cookie = all.last?.cookie ?? 0
            let page = try await retrying { () throws(Blocked) in
                try entries(of: directory, after: cookie, limit: 3)
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

extension [UInt8] {
    func withHalt<Value>(
        _ body: (UnsafeRawBufferPointer) throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        try withUnsafeBufferPointer { (buffer) throws(Blocked) in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }
}
