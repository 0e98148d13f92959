import Engine

/// The result of `stat`, as far as the model determines it.
struct Look: Hashable, CustomStringConvertible {
    var kind: FileKind
    var mode: UInt16
    var size: Int
    /// 0 for a directory: one that was not listed does not know its own.
    var links: Int
    /// Of a file, if the model knows it.
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

    /// Whether it matches the model, as far as the model determines it.
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

    /// Compares all names, attributes and symbolic link targets, without fetching content.
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
            try await engine.retrying { () throws(Blocked) in
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
            try await engine.retrying { () throws(Blocked) in try engine.readSymlink(inode) }
        }
        guard target == model[node].target else {
            throw ProgramFailure("\(path) points to another place")
        }
    }

    /// Compares the bytes of all files, after ``checkNames()``.
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

    /// Returns the bytes of a file as a program reads them.
    func bytes(of path: Path) async throws(ProgramFailure) -> [UInt8] {
        try await asking(nil, "read \(path)") { () async throws(EngineError) in
            try await engine.content(of: try await find(path, engine))
        }
    }
}

/// Performs an operation that a correct engine does not refuse.
///
/// - Parameter invariant: The invariant that a refusal violates, if it has a number.
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

/// Describes the difference between two contents.
struct Difference: CustomStringConvertible {
    let description: String

    init(_ bytes: [UInt8], _ expected: [UInt8]) {
        let first = zip(bytes, expected).enumerated().first { $0.element.0 != $0.element.1 }
        description =
            "has \(bytes.count) bytes, expected \(expected.count); the first wrong one is "
            + (first.map { "\($0.offset)" } ?? "at the end")
    }
}
