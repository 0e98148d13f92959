import Engine

/// The answer of an engine or of the model to a step.
enum ProgramAnswer {
    case done
    case inode(InodeNumber)
    case bytes([UInt8])
    case look(Look)
    case names([FileName])
}

// The steps, on the reference model.

extension ProgramStep {
    /// - Parameter slots: The open file of each slot.
    /// - Returns: The answer expected of an engine, as far as the model determines it.
    func perform(
        _ model: inout ReferenceModel, _ slots: [Int: ReferenceModel.Number]
    ) throws(ReferenceModel.Refusal) -> ProgramAnswer {
        switch self {
        case .create(_, let path, let mode):
            try make(.init(kind: .file, mode: mode), at: path, in: &model)
        case .open(_, let path, _, let isTruncating):
            let node = try model.find(path.names)
            _ = try model.file(node)
            if isTruncating { try model.resize(node, to: 0) }
        case .write(let slot, let offset, let count, let seed):
            guard let node = slots[slot] else { break }
            model.write(ProgramBytes.make(count, seed: seed), at: offset, of: node)
        case .read(let slot, let offset, let count):
            guard let node = slots[slot] else { break }
            return .bytes(Array(model[node].bytes.dropFirst(offset).prefix(count)))
        case .synchronizeDirectory(let path):
            _ = try model.directory(try model.find(path.names))
        case .look(let path): return .look(Look(try model.find(path.names), in: model))
        case .list(let path):
            let directory = try model.directory(try model.find(path.names))
            return .names(directory.children.keys.sorted())
        case .evict(let path), .pin(let path, _): _ = try model.find(path.names)
        case .unlink(let path):
            let (name, parent) = try path.place(in: model)
            try model.unlink(name, in: parent)
        case .removeDirectory(let path):
            let (name, parent) = try path.place(in: model)
            try model.removeDirectory(name, in: parent)
        case .rename(let from, let to, let replaces):
            let (name, parent) = try from.place(in: model)
            let (newName, newParent) = try to.place(in: model)
            try model.rename(name, in: parent, to: newName, in: newParent, replaces: replaces)
        case .makeDirectory(let path):
            try make(.init(kind: .directory, mode: 0o755), at: path, in: &model)
        case .makeSymlink(let path, let target):
            let node = ReferenceModel.Node(
                kind: .symlink, mode: 0o777, target: Array(target.utf8))
            try make(node, at: path, in: &model)
        default: try setAttributes(&model)
        }
        return .done
    }

    private func make(
        _ node: ReferenceModel.Node, at path: Path, in model: inout ReferenceModel
    ) throws(ReferenceModel.Refusal) {
        let (name, parent) = try path.place(in: model)
        _ = try model.create(node, name, in: parent)
    }

    private func setAttributes(
        _ model: inout ReferenceModel
    ) throws(ReferenceModel.Refusal) {
        switch self {
        case .resize(let path, let size):
            try model.resize(try model.find(path.names), to: size)
        case .setMode(let path, let mode):
            let node = try model.find(path.names)
            if model[node].kind != .symlink { model[node].mode = mode }
        case .setModified(let path, let seconds):
            let node = try model.find(path.names)
            if model[node].kind != .directory {
                model[node].modified = Timestamp(seconds: seconds)
            }
        case .setAttribute(let path, let name, let seed):
            let node = try model.find(path.names)
            if model[node].kind == .symlink { return }
            try model.setAttribute(name, to: seed.map(ProgramBytes.attribute), of: node)
        default: break
        }
    }
}

extension Path {
    /// Returns the last name and its parent directory.
    func place(
        in model: ReferenceModel
    ) throws(ReferenceModel.Refusal) -> (FileName, ReferenceModel.Number) {
        guard let name = names.last else { throw ReferenceModel.Refusal(.invalid) }
        return (name, try model.find(parent.names))
    }
}
