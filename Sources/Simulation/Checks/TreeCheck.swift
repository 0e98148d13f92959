import Engine

/// What `stat` shows of a node, as far as the model can tell.
struct Look: Hashable, CustomStringConvertible {
    var kind: FileKind
    var mode: UInt16
    var size: Int
    /// 0 for a directory: one that was not listed does not know its own.
    var links: Int
    /// Of a file; nil where the model does not know.
    var modified: Timestamp?

    init(_ attributes: Attributes) {
        kind = attributes.kind
        mode = attributes.mode
        size = attributes.kind == .directory ? 0 : Int(attributes.size)
        links = attributes.kind == .directory ? 0 : Int(attributes.links)
        modified = attributes.kind != .directory ? attributes.modified : nil
    }

    init(_ number: ReferenceModel.Number, in model: ReferenceModel) {
        let node = model[number]
        kind = node.kind
        mode = node.mode
        size = node.kind == .file ? node.bytes.count : node.target.count
        links = node.kind == .directory ? 0 : model.links(number)
        modified = node.modified
    }

    /// Whether it is as the model says, as far as that knows.
    func agrees(with right: Look) -> Bool {
        var look = self
        if right.modified == nil { look.modified = nil }
        return look == right
    }

    var description: String {
        "\(kind) mode \(String(mode, radix: 8)) size \(size) links \(links)"
            + (modified.map { " of \($0.nanoseconds)" } ?? "")
    }
}

/// Compares a mounted tree with the model.
struct TreeCheck {
    let engine: Engine
    let model: ReferenceModel

    /// All names, attributes and targets of symbolic links; no bytes are fetched for it.
    func checkNames() async throws(ProgramFailure) {
        try await checkNames(of: Path([]), InodeNumber.root, ReferenceModel.root)
    }

    private func checkNames(
        of path: Path, _ inode: InodeNumber, _ node: ReferenceModel.Number
    ) async throws(ProgramFailure) {
        let entries = try await asking(nil, "list \(path)") { () async throws(EngineError) in
            try await engine.allEntries(of: inode)
        }
        let names = entries.map(\.name).sorted()
        let expected = model[node].children
        guard names == expected.keys.sorted() else {
            throw ProgramFailure("\(path) holds \(names), not \(expected.keys.sorted())")
        }
        for entry in entries.sorted(by: { $0.name < $1.name }) {
            guard let child = expected[entry.name] else { continue }
            let path = path.appending(entry.name)
            let (look, right) = (Look(entry.attributes), Look(child, in: model))
            guard look.agrees(with: right) else {
                throw ProgramFailure("\(path) is \(look), not \(right)")
            }
            if look.kind != .symlink {
                try await checkAttributes(of: path, entry.attributes.inode, child)
            }
            switch look.kind {
            case .directory: try await checkNames(of: path, entry.attributes.inode, child)
            case .symlink: try await checkTarget(of: path, entry.attributes.inode, child)
            case .file: break
            }
        }
    }

    private func checkAttributes(
        of path: Path, _ inode: InodeNumber, _ node: ReferenceModel.Number
    ) async throws(ProgramFailure) {
        let attributes = try await asking(nil, "look at \(path)") { () async throws(EngineError) in
            try await engine.completing { () throws(Halt) in
                try engine.extendedAttributes(of: inode)
            }
        }
        guard attributes == model[node].extendedAttributes else {
            throw ProgramFailure(
                "\(path) has \(attributes), not \(model[node].extendedAttributes)")
        }
    }

    private func checkTarget(
        of path: Path, _ inode: InodeNumber, _ node: ReferenceModel.Number
    ) async throws(ProgramFailure) {
        let target = try await asking(nil, "read \(path)") { () async throws(EngineError) in
            try await engine.completing { () throws(Halt) in try engine.readSymlink(inode) }
        }
        guard target == model[node].target else {
            throw ProgramFailure("\(path) points to another place")
        }
    }

    /// All bytes of all files; the names were checked before.
    func checkBytes() async throws(ProgramFailure) {
        for (names, node) in model.tree() where model[node].kind == .file {
            let path = Path(names)
            let bytes = try await bytes(of: path)
            guard bytes == model[node].bytes else {
                throw ProgramFailure(
                    "\(path) " + Difference(bytes, model[node].bytes).description)
            }
        }
    }

    /// All bytes of a file, as a program reads them.
    func bytes(of path: Path) async throws(ProgramFailure) -> [UInt8] {
        try await asking(nil, "read \(path)") { () async throws(EngineError) in
            let inode = try await find(path, engine)
            try await engine.completing { () throws(Halt) in
                try engine.open(inode, access: .read, truncating: false)
            }
            defer { engine.release(inode, access: .read) }
            return try await engine.bytes(of: inode, at: 0, count: 1 << 30)
        }
    }
}

/// Asks for something that a healthy engine does not refuse.
///
/// - Parameter invariant: Which one a refusal breaks, if it has a number.
func asking<Answer>(
    _ invariant: String?, _ attempt: @autoclosure () -> String,
    _ ask: () async throws(EngineError) -> Answer
) async throws(ProgramFailure) -> Answer {
    do throws(EngineError) {
        return try await ask()
    } catch {
        let prefix = invariant.map { "\($0): " } ?? ""
        throw ProgramFailure("\(prefix)cannot \(attempt()): \(error)")
    }
}

/// Where some bytes are not those that they should be.
struct Difference: CustomStringConvertible {
    let description: String

    init(_ bytes: [UInt8], _ expected: [UInt8]) {
        let first = zip(bytes, expected).enumerated().first { $0.element.0 != $0.element.1 }
        description =
            "has \(bytes.count) bytes, expected \(expected.count); the first wrong one is "
            + (first.map { "\($0.offset)" } ?? "at the end")
    }
}
