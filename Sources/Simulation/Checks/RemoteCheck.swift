import Engine

/// Compares the remote with the model.
struct RemoteCheck {
    let mount: SimulatedMount

    /// - Throws: ``ProgramFailure`` if a name, byte, attribute or target differs.
    func check(_ model: ReferenceModel) throws(ProgramFailure) {
        let remote = mount.provider.snapshot()
        let attributes = mount.provider.attributes()
        var expected: Set<ObjectKey> = []
        for (names, number) in model.tree() {
            let key = ObjectKey(names)
            expected.insert(key)
            try check(key, remote[key], model[number])
            guard let found = attributes[key] else { continue }
            if let time = model[number].modified, found.modified != time {
                throw ProgramFailure(
                    "the remote's \"\(key)\" is of \(found.modified.nanoseconds), "
                        + "not of \(time.nanoseconds)")
            }
            if model[number].kind == .symlink { continue }
            guard found.mode == model[number].mode else {
                throw ProgramFailure(
                    "the remote's \"\(key)\" has mode \(String(found.mode, radix: 8))"
                        + ", not \(String(model[number].mode, radix: 8))")
            }
            guard found.extendedAttributes == model[number].extendedAttributes else {
                throw ProgramFailure("the remote's \"\(key)\" has other extended attributes")
            }
        }
        for key in remote.keys.map(\.description).sorted()
        where !expected.contains(where: { $0.description == key }) {
            throw ProgramFailure("\"\(key)\" on the remote is unexpected")
        }
    }

    private func check(
        _ key: ObjectKey, _ entry: SimulatedSnapshotEntry?, _ node: ReferenceModel.Node
    ) throws(ProgramFailure) {
        switch (entry, node.kind) {
        case (.file(let bytes), .file) where bytes == node.bytes: break
        case (.file(let bytes), .file):
            throw ProgramFailure(
                "the remote's \"\(key)\" " + Difference(bytes, node.bytes).description)
        case (.directory, .directory): break
        case (.symlink(let target), .symlink) where target == node.target: break
        case (nil, _): throw ProgramFailure("the remote has no \"\(key)\"")
        default: throw ProgramFailure("the remote's \"\(key)\" is something else")
        }
    }
}
