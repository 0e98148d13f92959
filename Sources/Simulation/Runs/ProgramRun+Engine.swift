import Engine

// The steps, as requests of the kernel.

extension ProgramRun {
    private var engine: Engine { mount.engine }

    /// - Returns: `nil` if the step's slot has no suitable file.
    mutating func perform(_ step: ProgramStep) async throws(EngineError) -> ProgramAnswer? {
        switch step {
        case .create(let slot, let path, let mode):
            return .inode(try await create(slot, path, mode))
        case .open(let slot, let path, let isWriting, let isTruncating):
            // Some readers are programs that scan.
            let access: FileAccess = isWriting ? .write : slot % 2 == 1 ? .scan : .read
            return .inode(try await open(slot, path, access, truncating: isTruncating))
        case .write(let slot, let offset, let count, let seed):
            guard let handle = handles[slot], handle.access == .write else { return nil }
            try await write(ProgramBytes.make(count, seed: seed), at: offset, of: handle.inode)
        case .read(let slot, let offset, let count):
            guard let handle = handles[slot] else { return nil }
            touched = (handle.inode, nil)
            return .bytes(
                try await engine.bytes(
                    of: handle.inode, at: offset, count: count, access: handle.access))
        case .synchronize(let slot):
            guard let inode = handles[slot]?.inode else { return nil }
            try await engine.retrying { () throws(Blocked) in try engine.synchronize(inode) }
            return .inode(inode)
        case .synchronizeDirectory(let path):
            return .inode(try await synchronizeDirectory(path))
        case .look(let path):
            let inode = try await find(path, engine)
            return try await engine.retrying { () throws(Blocked) in
                .look(Look(try engine.attributes(of: inode)))
            }
        case .list(let path):
            let entries = try await engine.allEntries(of: try await find(path, engine))
            return .names(entries.map(\.name))
        case .evict(let path): try await evict(path)
        case .pin(let path, let isPinned): try await pin(path, isPinned)
        case .makeDirectory(let path), .makeSymlink(let path, _), .removeDirectory(let path),
            .unlink(let path):
            try await changeName(path, step)
        case .rename(let from, let to, let replaces):
            try await rename(from, to, replaces ? .replace : .noReplace)
        case .resize(let path, _), .setMode(let path, _), .setModified(let path, _),
            .setAttribute(let path, _, _):
            try await setAttributes(of: path, step)
        default: return nil
        }
        return .done
    }

    /// Evicts what is not pinned; nothing else runs in between.
    private mutating func evict(_ path: Path) async throws(EngineError) {
        let inode = try await find(path, engine)
        let before = try engine.pins.items()
        _ = try engine.evict(inode)
        hasEvictedPinned = try engine.pins.items() != before
    }

    private func pin(_ path: Path, _ isPinned: Bool) async throws(EngineError) {
        let inode = try await find(path, engine)
        do throws(EngineError) {
            try await engine.retrying { () throws(Blocked) in
                try engine.setExtendedAttribute(
                    Array("user.apus.pin".utf8), to: [UInt8(ascii: isPinned ? "1" : "0")],
                    of: inode)
            }
        } catch {
            // The cache has no room for it, or it stays pinned with a directory above it.
            guard error.kind == (isPinned ? .outOfSpace : .invalid) else { throw error }
        }
    }

    private mutating func create(
        _ slot: Int, _ path: Path, _ mode: UInt16
    ) async throws(EngineError) -> InodeNumber {
        close(slot)
        let (name, parent) = try await place(path, engine)
        let inode = try await engine.retrying { () throws(Blocked) in
            try engine.createFile(name, in: parent, mode: mode, caller: .test).inode
        }
        handles[slot] = Handle(inode: inode, access: .write)
        return inode
    }

    private mutating func open(
        _ slot: Int, _ path: Path, _ access: FileAccess, truncating: Bool
    ) async throws(EngineError) -> InodeNumber {
        close(slot)
        let inode = try await find(path, engine)
        try await engine.retrying { () throws(Blocked) in
            // The kernel does not open symbolic links.
            if try engine.attributes(of: inode).kind == .symlink {
                throw .failure(EngineError(.invalid, "open a symbolic link"))
            }
            try touch(inode)
            try engine.open(inode, access: access, truncating: truncating)
        }
        handles[slot] = Handle(inode: inode, access: access)
        return inode
    }

    private mutating func write(
        _ bytes: [UInt8], at offset: Int, of inode: InodeNumber
    ) async throws(EngineError) {
        try await engine.retrying { () throws(Blocked) in
            try touch(inode)
            try bytes.withUnsafeBufferPointer { (buffer) throws(Blocked) in
                try engine.write(inode, UnsafeRawBufferPointer(buffer), at: UInt64(offset))
            }
        }
    }

    private func synchronizeDirectory(_ path: Path) async throws(EngineError) -> InodeNumber {
        let inode = try await find(path, engine)
        try await engine.retrying { () throws(Blocked) in
            guard try engine.attributes(of: inode).kind == .directory else {
                throw .failure(EngineError(.notDirectory, "synchronize a directory"))
            }
            try engine.synchronize(inode)
        }
        return inode
    }

    private mutating func changeName(
        _ path: Path, _ step: ProgramStep
    ) async throws(EngineError) {
        let (name, parent) = try await place(path, engine)
        try await engine.retrying { () throws(Blocked) in
            switch step {
            case .makeDirectory:
                _ = try engine.createDirectory(name, in: parent, mode: 0o755, caller: .test)
            case .makeSymlink(_, let target):
                _ = try engine.createSymlink(
                    name, in: parent, target: Array(target.utf8), caller: .test)
            case .removeDirectory: try engine.removeDirectory(name, in: parent)
            default:
                touched = nil
                if isShared { try touch(try engine.lookup(name, in: parent).inode) }
                try engine.unlink(name, in: parent)
            }
        }
    }

    private mutating func rename(
        _ from: Path, _ to: Path, _ mode: RenameMode
    ) async throws(EngineError) {
        let (name, parent) = try await place(from, engine)
        let (newName, newParent) = try await place(to, engine)
        try await engine.retrying { () throws(Blocked) in
            touched = nil
            if isShared {
                let moved = try engine.lookup(name, in: parent).inode
                let target = try engine.existing(newName, in: newParent)
                if let target, target != moved { try touch(target) }
            }
            try engine.rename(name, in: parent, to: newName, in: newParent, mode: mode)
        }
    }

    private mutating func setAttributes(
        of path: Path, _ step: ProgramStep
    ) async throws(EngineError) {
        let inode = try await find(path, engine)
        try await engine.retrying { () throws(Blocked) in
            let kind = try engine.attributes(of: inode).kind
            var change = AttributeChange()
            switch step {
            case .resize(_, let size):
                // The kernel sets the size of files only.
                if kind != .file {
                    throw .failure(
                        EngineError(kind == .directory ? .isDirectory : .invalid, "resize"))
                }
                try touch(inode)
                change.size = UInt64(size)
                change.modified = .now
            case .setModified(_, let seconds): change.modified = .at(Timestamp(seconds: seconds))
            // The kernel follows a symbolic link first, which has no mode and attributes.
            case _ where kind == .symlink: return
            case .setMode(_, let mode): change.mode = mode
            case .setAttribute(_, let name, let seed):
                return try engine.setExtendedAttribute(
                    Array(name.utf8), to: seed.map(ProgramBytes.attribute), of: inode)
            default: return
            }
            _ = try engine.setAttributes(of: inode, to: change)
        }
    }

    private mutating func touch(_ inode: InodeNumber) throws(Blocked) {
        touched = (inode, try mount.engine.agreedVersion(of: inode))
    }
}
