import Engine

/// Compares a mounted tree with a model.
struct TreeCheck {
    let engine: Engine
    let model: ReferenceModel
    /// Inodes that may differ or be missing in the model.
    var exceptions: Set<InodeNumber> = []
    /// Whether modes and extended attributes have to be equal.
    var comparesMetadata = true

    /// Compares all names, attributes and symbolic link targets.
    ///
    /// - Parameter readsBytes: Whether to compare the content of files too, which fetches it.
    func check(readsBytes: Bool) async throws(ProgramFailure) {
        try await check(Path([]), .root, ReferenceModel.root, readsBytes)
    }

    private func check(
        _ path: Path, _ inode: InodeNumber, _ node: ReferenceModel.Number, _ readsBytes: Bool
    ) async throws(ProgramFailure) {
        let entries = try await asking("list \(path)") { () async throws(EngineError) in
            try await engine.allEntries(of: inode)
        }
        let expected = model[node].children
        let required = entries.filter { !exceptions.contains($0.attributes.inode) }.map(\.name)
        guard required.allSatisfy({ expected[$0] != nil }),
            Set(expected.keys).isSubset(of: entries.map(\.name))
        else {
            throw ProgramFailure(
                "\(path) holds \(entries.map(\.name).sorted()), not \(expected.keys.sorted())")
        }
        for entry in entries.sorted(by: { $0.name < $1.name }) {
            let inode = entry.attributes.inode
            guard let child = expected[entry.name], !exceptions.contains(inode) else { continue }
            let path = path.appending(entry.name)
            var (look, right) = (Look(entry.attributes), Look(child, in: model))
            if !comparesMetadata { (look.mode, right.mode) = (0, 0) }
            guard look.agrees(with: right) else {
                throw ProgramFailure("\(path) is \(look), not \(right)")
            }
            if comparesMetadata, look.kind != .symlink {
                try await checkAttributes(of: path, inode, child)
            }
            switch look.kind {
            case .directory: try await check(path, inode, child, readsBytes)
            case .symlink: try await checkTarget(of: path, inode, child)
            case .file where readsBytes:
                let bytes = try await bytes(of: path, inode)
                guard bytes == model[child].bytes else {
                    throw ProgramFailure("\(path) \(difference(bytes, model[child].bytes))")
                }
            case .file: break
            }
        }
    }

    private func checkAttributes(
        of path: Path, _ inode: InodeNumber, _ node: ReferenceModel.Number
    ) async throws(ProgramFailure) {
        let attributes = try await asking("look at \(path)") { () async throws(EngineError) in
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
        let target = try await asking("read \(path)") { () async throws(EngineError) in
            try await engine.retrying { () throws(Blocked) in
                try engine.symbolicLink(inode).target
            }
        }
        guard target == model[node].target else {
            throw ProgramFailure("\(path) points to another place")
        }
    }

    /// Returns the bytes of a file as a program reads them.
    ///
    /// - Parameter inode: `nil` to follow the path.
    func bytes(
        of path: Path, _ inode: InodeNumber? = nil
    ) async throws(ProgramFailure) -> [UInt8] {
        try await asking("read \(path)") { () async throws(EngineError) in
            if let inode { return try await engine.content(of: inode) }
            return try await engine.content(of: try await find(path, engine))
        }
    }

    /// Performs an operation that a correct engine does not refuse.
    private func asking<Answer>(
        _ attempt: @autoclosure () -> String, _ ask: () async throws(EngineError) -> Answer
    ) async throws(ProgramFailure) -> Answer {
        do throws(EngineError) {
            return try await ask()
        } catch {
            throw ProgramFailure("cannot \(attempt()): \(error)")
        }
    }
}

/// Describes the difference between two contents.
func difference(_ bytes: [UInt8], _ expected: [UInt8]) -> String {
    let first = zip(bytes, expected).enumerated().first { $0.element.0 != $0.element.1 }
    return "has \(bytes.count) bytes, expected \(expected.count); the first wrong one is "
        + (first.map { "\($0.offset)" } ?? "at the end")
}
