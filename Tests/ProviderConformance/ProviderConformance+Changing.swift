import Engine

extension ProviderConformance {
    static let changingCases = [
        Case("a directory is created, once") { store in
            let made = try await store.makeDirectory("directory")
            try require(made.kind, equals: .directory, "its kind")
            try store.requireAttributes(of: made, ConformanceStore.directoryAttributes)
            try await store.expect(.exists, of: "creating it again") {
                try await store.makeDirectory("directory")
            }
            try await store.expect(.exists, of: "creating the root") {
                try await store.makeDirectory("")
            }
            try await store.write("file", [1])
            try await store.expect(.exists, of: "creating it over a file") {
                try await store.makeDirectory("file")
            }
        },
        Case("a file is moved, within a directory and to another") { store in
            try await store.makeDirectory("directory")
            let bytes = store.bytes(1_000)
            var object = try await store.write("a", bytes)
            for (from, to) in [("a", "b"), ("b", "directory/c"), ("directory/c", "a")] {
                let former = object.etag
                object = try await store.provider.move(
                    store.key(from), etag: store.etag(of: object), to: store.key(to), base: .absent)
                if store.provider.traits.keepsVersionsInMoves {
                    try require(object.etag, equals: former, "its version, which moves keep")
                }
                let found = try await store.provider.stat(store.key(to))
                try require(found, equals: object, "the object at its destination")
                try await store.expect(bytes, at: to)
                try await store.expectNothing(at: from)
            }
        },
        Case("a directory is moved with all below it") { store in
            try await store.makeDirectory("a")
            try await store.makeDirectory("a/below")
            try await store.write("a/below/file", [1, 2])
            try await store.makeDirectory("other")
            let moved = try await store.provider.move(
                store.key("a"), etag: nil, to: store.key("other/b"), base: .absent)
            try require(moved.kind, equals: .directory, "its kind")
            try await store.expect([1, 2], at: "other/b/below/file")
            try await store.expectNames(["other"], in: "")
        },
        Case("a move replaces nothing that it was not told to") { store in
            let etag = try await store.etag(of: store.write("file", [1]))
            try await store.write("other", [2])
            try await store.makeDirectory("directory")
            try await store.makeDirectory("empty")
            for destination in ["other", "directory"] {
                try await store.expect(.exists, of: "moving onto \"\(destination)\"") {
                    _ = try await store.provider.move(
                        store.key("file"), etag: etag, to: store.key(destination), base: .absent)
                }
            }
            for destination in ["other", "empty"] {
                try await store.expect(.exists, of: "moving a directory onto \"\(destination)\"") {
                    _ = try await store.provider.move(
                        store.key("directory"), etag: nil, to: store.key(destination), base: .absent
                    )
                }
            }
            try await store.expect([1], at: "file")
            try await store.expect([2], at: "other")
            try await store.expectNames(["directory", "empty", "file", "other"], in: "")
        },
        Case("a move replaces the version that it names") { store in
            let etag = try await store.etag(of: store.write("file", [1]))
            let old = try await store.etag(of: store.write("other", [2]))
            let moved = try await store.provider.move(
                store.key("file"), etag: etag, to: store.key("other"), base: .version(old))
            try await store.expect([1], at: "other")
            try await store.expectNames(["other"], in: "")
            let found = try await store.provider.stat(store.key("other"))
            try require(found, equals: moved, "the object at its destination")
        },
        Case("a move stops if either version is another") { store in
            let first = try await store.etag(of: store.write("file", [1]))
            let second = try await store.etag(of: store.write("file", [2], base: .version(first)))
            let old = try await store.etag(of: store.write("other", [3]))
            let new = try await store.etag(of: store.write("other", [4], base: .version(old)))
            try await store.expect(.changed, of: "moving a version that is gone") {
                _ = try await store.provider.move(
                    store.key("file"), etag: first, to: store.key("new"), base: .absent)
            }
            try await store.expect(.changed, of: "moving a gone version over another") {
                _ = try await store.provider.move(
                    store.key("file"), etag: first, to: store.key("other"), base: .version(new))
            }
            try await store.expect(.changed, of: "replacing a version that is gone") {
                _ = try await store.provider.move(
                    store.key("file"), etag: second, to: store.key("other"), base: .version(old))
            }
            try await store.expect([2], at: "file")
            try await store.expect([4], at: "other")
            try await store.expectNames(["file", "other"], in: "")
        },
        Case("files of the same size and time have different etags, wherever they move") { store in
            guard store.options.tellsVersionsOfOneTime, store.options.tellsMovedVersions else {
                return
            }
            try await store.checkRotation()
        },
        Case("a move of what is missing, or to where nothing is, fails") { store in
            let etag = try await store.etag(of: store.write("file", [1]))
            try await store.expect(.missing, of: "moving what is missing") {
                _ = try await store.provider.move(
                    store.key("nothing"), etag: etag, to: store.key("new"), base: .absent)
            }
            try await store.expect(.missing, of: "moving to a missing directory") {
                _ = try await store.provider.move(
                    store.key("file"), etag: etag, to: store.key("nothing/new"), base: .absent)
            }
            try await store.expect(.missing, of: "replacing what is missing") {
                _ = try await store.provider.move(
                    store.key("file"), etag: etag, to: store.key("new"), base: .version(etag))
            }
            try await store.expect([1], at: "file")
        },
        Case("a directory cannot move below itself") { store in
            try await store.makeDirectory("a")
            try await store.expect(.unsupported, of: "moving it below itself") {
                _ = try await store.provider.move(
                    store.key("a"), etag: nil, to: store.key("a/b"), base: .absent)
            }
            try await store.expectNames(["a"], in: "")
        },
        Case("files and empty directories are deleted, once") { store in
            let object = try await store.write("file", [1])
            try await store.makeDirectory("directory")
            try await store.provider.delete(store.key("file"), kind: .file, etag: object.etag)
            try await store.provider.delete(store.key("directory"), kind: .directory, etag: nil)
            try await store.expectNames([], in: "")
            try await store.expect(.missing, of: "deleting the file again") {
                try await store.provider.delete(store.key("file"), kind: .file, etag: object.etag)
            }
            try await store.expect(.missing, of: "deleting the directory again") {
                try await store.provider.delete(store.key("directory"), kind: .directory, etag: nil)
            }
        },
        Case("another version than the one named is not deleted") { store in
            let first = try await store.etag(of: store.write("file", [1]))
            try await store.write("file", [2], base: .version(first))
            try await store.expect(.changed, of: "deleting the old version") {
                try await store.provider.delete(store.key("file"), kind: .file, etag: first)
            }
            try await store.expect([2], at: "file")
        },
        Case("a directory that holds something is not deleted") { store in
            try await store.makeDirectory("directory")
            try await store.write("directory/file", [1])
            try await store.expect(.notEmpty, of: "deleting it") {
                try await store.provider.delete(store.key("directory"), kind: .directory, etag: nil)
            }
            try await store.expect([1], at: "directory/file")
        },
        Case("another kind than the one named is not deleted") { store in
            let etag = try await store.etag(of: store.write("file", [1]))
            try await store.makeDirectory("directory")
            try await store.expect(.wrongKind, of: "deleting a file as a directory") {
                try await store.provider.delete(store.key("file"), kind: .directory, etag: nil)
            }
            try await store.expect(.wrongKind, .changed, of: "deleting a directory as a file") {
                try await store.provider.delete(store.key("directory"), kind: .file, etag: etag)
            }
            try await store.expectNames(["directory", "file"], in: "")
        },
        Case("attributes are set on files and directories") { store in
            let written = try await store.write("file", [1, 2, 3])
            try await store.makeDirectory("directory")
            let attributes = ObjectAttributes(
                modified: Timestamp(seconds: 1_500_000_000, nanoseconds: 123_456_789), mode: 0o640)
            let file = try await store.provider.setAttributes(
                store.key("file"), to: attributes, etag: written.etag)
            let directory = try await store.provider.setAttributes(
                store.key("directory"), to: attributes, etag: nil)
            for object in [file, directory] {
                if store.options.setsModifiedAlone {
                    try store.requireAttributes(of: object, attributes)
                }
                let found = try await store.provider.stat(ObjectKey([object.name]))
                try require(found, equals: object, "the object afterwards")
            }
            try await store.expect([1, 2, 3], at: "file")
        },
        Case("attributes that are not to be set stay as another client left them") { store in
            try await store.checkSetAlone()
        },
        Case("extended attributes are kept, changed, moved and removed, or not told") { store in
            try await store.checkExtendedAttributes()
        },
        Case("attributes are not set on another version or what is missing") { store in
            let first = try await store.etag(of: store.write("file", [1]))
            let second = try await store.write("file", [2], base: .version(first))
            try await store.expect(.changed, of: "setting them on an old version") {
                _ = try await store.provider.setAttributes(
                    store.key("file"), to: ConformanceStore.directoryAttributes, etag: first)
            }
            try await store.expect(.missing, of: "setting them on nothing") {
                _ = try await store.provider.setAttributes(
                    store.key("nothing"), to: ConformanceStore.attributes, etag: first)
            }
            let found = try await store.provider.stat(store.key("file"))
            try require(found, equals: second, "the object")
        },
        Case("symbolic links are stored as they are, or refused") { store in
            let target = Array("../nowhere/\u{e9}".utf8) + [0xFF]
            let key = try store.key("link")
            guard store.provider.traits.keepsSymlinks else {
                return try await store.expect(.unsupported, of: "a symbolic link") {
                    _ = try await store.provider.createSymlink(
                        key, target: target, attributes: ConformanceStore.attributes)
                }
            }
            let made = try await store.provider.createSymlink(
                key, target: target, attributes: ConformanceStore.attributes)
            try require(made.kind, equals: .symlink, "its kind")
            try require(made.target, equals: target, "its target")
            try store.requireAttributes(of: made, ConformanceStore.attributes)
            let listed = try await store.list("")
            try store.expect(listed, shows: [made])
            let found = try await store.provider.stat(key)
            try require(found, equals: made, "a look at it")
            if let listed = listed.first, listed.kind != .symlink {
                try await store.expect(.wrongKind, of: "reading it as the file that is listed") {
                    _ = try await store.read(
                        "link", etag: store.etag(of: listed), range: 0..<listed.size)
                }
            } else {
                try require(made.etag, equals: nil, "its etag")
            }
            try await store.expect(.exists, of: "making it again") {
                _ = try await store.provider.createSymlink(
                    key, target: target, attributes: ConformanceStore.attributes)
            }
            var later = ConformanceStore.attributes
            later.modified = Timestamp(nanoseconds: later.modified.nanoseconds + 86_400_123_456_789)
            let touched = try await store.provider.setAttributes(key, to: later, etag: nil)
            try require(touched.kind, equals: .symlink, "its kind with another time")
            try require(touched.target, equals: target, "its target with another time")
            try store.requireAttributes(of: touched, later)
            try require(
                try await store.provider.stat(key), equals: touched,
                "a look at it with another time")
            let moved = try await store.provider.move(
                key, etag: nil, to: store.key("moved"), base: .absent)
            try require(moved.target, equals: target, "its target after a move")
            try store.requireAttributes(of: moved, later)
            try store.expect(try await store.list(""), shows: [moved])
            try await store.provider.delete(store.key("moved"), kind: .symlink, etag: nil)
            try await store.expectNames([], in: "")
        },
        Case("a symbolic link to a directory is no directory") { store in
            guard store.provider.traits.keepsSymlinks else { return }
            try await store.makeDirectory("directory")
            try await store.write("directory/file", [1])
            _ = try await store.provider.createSymlink(
                store.key("link"), target: Array("directory".utf8),
                attributes: ConformanceStore.attributes)
            try await store.expect(.wrongKind, of: "listing it") {
                _ = try await store.provider.entries(of: store.key("link")).next()
            }
            try await store.expectNothing(at: "link/file")
            try await store.expect(.missing, of: "writing through it") {
                try await store.write("link/new", [1])
            }
        },
    ]
}

extension ConformanceStore {
    /// Writes files side by side, so that some of them have the same time, and moves a few to the
    /// name of the one before.
    func checkRotation() async throws {
        let written = try await withThrowingTaskGroup(
            of: (name: String, etag: ETag).self
        ) { group in
            for index in 0..<60 {
                group.addTask {
                    let name = "\(index)"
                    return (name, try await etag(of: write(name, bytes(100, seed: UInt64(index)))))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // Any of them may come to the name of any other.
        try require(Set(written.map(\.etag)).count, equals: written.count, "different etags")
        let files = written.prefix(4)
        func move(_ from: String, to name: String) async throws {
            let etag = try await etag(of: provider.stat(key(from)))
            _ = try await provider.move(key(from), etag: etag, to: key(name), base: .absent)
        }
        try await move(files[0].name, to: "first")
        for (file, next) in zip(files, files.dropFirst()) {
            try await move(next.name, to: file.name)
        }
        try await move("first", to: files[files.count - 1].name)
        for (file, next) in zip(files, files.dropFirst() + written.prefix(1)) {
            let (name, old) = file
            let found = try await provider.stat(key(name))
            try require(found.etag != old, "another etag than \(old) at \"\(name)\"")
            try await expect(.changed, of: "writing over a version that has moved away") {
                try await write(name, [1], base: .version(old))
            }
            try await expect(.changed, of: "deleting a version that has moved away") {
                try await provider.delete(key(name), kind: .file, etag: old)
            }
            try await expect(.changed, of: "reading a version that has moved away") {
                _ = try await read(name, etag: old, range: 0..<100)
            }
            let seed = UInt64(next.name) ?? 0
            try await expect(bytes(100, seed: seed), at: name)
        }
    }

    /// Sets one attribute after the other, each beside outdated values of the others.
    fileprivate func checkSetAlone() async throws {
        let text = Array("user.text".utf8)
        var now = Self.attributes
        now.extendedAttributes[text] = [1]
        var outdated = ObjectAttributes(modified: Timestamp(seconds: 1_400_000_000), mode: 0o600)
        let file = try key("file"), directory = try key("directory")
        var made = try await provider.write(
            file, from: ConformanceSource(bytes: [1, 2, 3]), attributes: now, base: .absent,
            session: UntrackedUpload())
        _ = try await provider.createDirectory(directory, attributes: now)
        for fields in [AttributeFields.mode, .extendedAttributes, .modified] {
            switch fields {
            case .mode: (now.mode, outdated.mode) = (0o640, 0o640)
            case .extendedAttributes:
                now.extendedAttributes[text] = [2]
                outdated.extendedAttributes[text] = [2]
            default:
                now.modified = Timestamp(seconds: 1_500_000_000, nanoseconds: 123_456_789)
                outdated.modified = now.modified
            }
            made = try await provider.setAttributes(
                file, to: outdated, only: fields, etag: made.etag, nonce: nil)
            let other = try await provider.setAttributes(
                directory, to: outdated, only: fields, etag: nil, nonce: nil)
            for object in [made, other] where options.setsModifiedAlone {
                try requireAttributes(of: object, now)
            }
            try await expect(now.extendedAttributes, of: [file, directory])
            outdated = ObjectAttributes(modified: Timestamp(seconds: 1_400_000_000), mode: 0o600)
        }
        try await expect([1, 2, 3], at: "file")
    }

    /// Sets and changes the extended attributes of a file and of a directory.
    fileprivate func checkExtendedAttributes() async throws {
        var attributes = Self.attributes
        attributes.extendedAttributes[Array("user.text".utf8)] = Array("a, \"b\": {c}%\n".utf8)
        attributes.extendedAttributes[Array("user.a,b:\"{c}% \u{e9}<&".utf8)] = []
        attributes.extendedAttributes[Array("user.".utf8) + [0xFF, 1]] = Array(0...255)
        let file = try key("file"), directory = try key("directory")
        var made = try await provider.write(
            file, from: ConformanceSource(bytes: [1, 2, 3]), attributes: attributes,
            base: .absent, session: UntrackedUpload())
        _ = try await provider.createDirectory(directory, attributes: attributes)
        try await expect(attributes.extendedAttributes, of: [file, directory])

        attributes.extendedAttributes[Array("user.text".utf8)] = nil
        attributes.extendedAttributes[Array("user.new".utf8)] = [0]
        made = try await provider.setAttributes(file, to: attributes, etag: made.etag)
        _ = try await provider.setAttributes(directory, to: attributes, etag: nil)
        try await expect(attributes.extendedAttributes, of: [file, directory])
        try await expect([1, 2, 3], at: "file")

        let moved = try key("moved"), movedDirectory = try key("moved directory")
        made = try await provider.move(file, etag: made.etag, to: moved, base: .absent)
        _ = try await provider.move(directory, etag: nil, to: movedDirectory, base: .absent)
        try await expect(attributes.extendedAttributes, of: [moved, movedDirectory])

        // A new version has its own.
        var others = ExtendedAttributes()
        others[Array("user.other".utf8)] = [9]
        attributes = attributesOfNextVersion()
        attributes.extendedAttributes = others
        made = try await provider.write(
            moved, from: ConformanceSource(bytes: [4]), attributes: attributes,
            base: .version(etag(of: made)), session: UntrackedUpload())
        try await expect(others, of: [moved])
        attributes.extendedAttributes = ExtendedAttributes()
        _ = try await provider.setAttributes(moved, to: attributes, etag: made.etag)
        _ = try await provider.setAttributes(movedDirectory, to: attributes, etag: nil)
        try await expect(ExtendedAttributes(), of: [moved, movedDirectory])
    }

    private func expect(_ attributes: ExtendedAttributes, of keys: [ObjectKey]) async throws {
        let expected = provider.traits.extendedAttributes == nil ? nil : attributes
        for key in keys {
            let found = try await provider.stat(key)
            try require(
                found.extendedAttributes, equals: expected, "the extended attributes of \"\(key)\"")
        }
        let listed = try await list("")
        var objects: [RemoteObject] = []
        for object in listed { objects.append(try await provider.stat(ObjectKey([object.name]))) }
        try expect(listed, shows: objects)
    }
}
