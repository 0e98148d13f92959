import Engine
import Foundation

/// The objects of a simulated store, as a value: every change is one step.
struct SimulatedProviderTree {
    struct Node {
        var kind: FileKind
        var bytes: [UInt8] = []
        var target: [UInt8]?
        var modified: Timestamp
        var mode: UInt16
        var extendedAttributes = ExtendedAttributes()
        var etag: ETag?
        var nonce: WriteNonce?
        /// When a file was written last, bytes or attributes, by a clock that counts writes.
        var remoteModified = Timestamp(nanoseconds: 0)
        /// Which of ``contents`` a file holds.
        var content: Int?
        var children: [FileName: Int] = [:]
        /// The previous listing, for stale ones.
        var listed: [RemoteObject]?

        var snapshot: SimulatedSnapshotEntry {
            switch kind {
            case .file: .file(bytes)
            case .symlink: .symlink(target: target ?? [])
            case .directory: .directory
            }
        }

        var attributes: ObjectAttributes {
            ObjectAttributes(
                modified: modified, mode: mode, extendedAttributes: extendedAttributes)
        }
    }

    enum Change {
        /// Of the names in a directory, or of what they stand for.
        case entries(ObjectKey)
        /// Of the object at a key.
        case place(ObjectKey)
    }

    private let names: NameMatching
    private let decomposesNames: Bool
    private(set) var nodes: [Int: Node]
    private var lastNumber = 0
    private var lastVersion = 0
    private var lastWrite: Int64 = 0
    private(set) var bytesStored: UInt64 = 0
    /// Every version that any key ever held, in their order.
    private(set) var history: [ObjectKey: [SimulatedVersion]] = [:]
    /// Everything that any client ever wrote.
    private(set) var contents: [SimulatedContent] = []
    /// Who makes the changes now.
    var client = SimulatedContent.Client.mount
    /// Since ``takeChanges()``.
    private var changes: [Change] = []

    init(names: NameMatching, decomposesNames: Bool) {
        self.names = names
        self.decomposesNames = decomposesNames
        nodes = [
            0: Node(kind: .directory, modified: Timestamp(nanoseconds: 0), mode: 0o755)
        ]
    }

    // MARK: Reading

    func number(of key: ObjectKey) throws(ProviderError) -> Int {
        var number = 0
        for name in key.names {
            guard let child = nodes[number]?.children[spelling(of: name, in: number)] else {
                throw ProviderError(.missing, "there is no \"\(name)\"")
            }
            number = child
        }
        return number
    }

    func node(_ key: ObjectKey) throws(ProviderError) -> Node {
        node(try number(of: key))
    }

    func object(_ key: ObjectKey) throws(ProviderError) -> RemoteObject {
        guard let name = key.names.last ?? FileName("root") else {
            preconditionFailure("`root` is a file name")
        }
        return object(name, node(try number(of: key)))
    }

    /// The file at `key`, if it is the version that is expected.
    ///
    /// - Parameter etag: nil for any version.
    func file(_ key: ObjectKey, etag: ETag?) throws(ProviderError) -> Node {
        let node = try node(key)
        guard node.kind == .file else { throw ProviderError(.wrongKind, "it is no file") }
        guard etag == nil || node.etag == etag else {
            throw ProviderError(.changed, "it is another version")
        }
        return node
    }

    func children(of key: ObjectKey) throws(ProviderError) -> [RemoteObject] {
        let directory = try node(key)
        guard directory.kind == .directory else {
            throw ProviderError(.wrongKind, "not a directory")
        }
        return directory.children.sorted { $0.key < $1.key }
            .map { object($0.key, node($0.value)) }
    }

    /// All objects except the root.
    func everyNode() -> [ObjectKey: Node] {
        var nodes: [ObjectKey: Node] = [:]
        func collect(_ number: Int, _ key: ObjectKey) {
            for (name, child) in node(number).children {
                nodes[key.appending(name)] = node(child)
                collect(child, key.appending(name))
            }
        }
        collect(0, .root)
        return nodes
    }

    // MARK: Changing

    mutating func takeChanges() -> [Change] {
        defer { changes = [] }
        return changes
    }

    /// Records a change of an object, and of its place if it is there or gone from now on.
    private mutating func noteChange(at key: ObjectKey, ofPlace: Bool = false) {
        if ofPlace { changes.append(.place(key)) }
        if let parent = key.parent { changes.append(.entries(parent)) }
    }

    mutating func rememberListing(_ objects: [RemoteObject], of key: ObjectKey) {
        guard let number = try? number(of: key) else { return }
        nodes[number]?.listed = objects
    }

    /// - Parameter etag: The etag of the new version, see ``nextVersion()``.
    mutating func write(
        _ key: ObjectKey, bytes: [UInt8], attributes: ObjectAttributes, base: BaseVersion,
        nonce: WriteNonce? = nil, etag: ETag? = nil
    ) throws(ProviderError) -> RemoteObject {
        let parent = try parent(of: key)
        try expect(base, at: key)
        let etag = etag ?? nextVersion()
        let node = Node(
            kind: .file, bytes: bytes, modified: attributes.modified, mode: attributes.mode,
            extendedAttributes: attributes.extendedAttributes, etag: etag, nonce: nonce,
            content: contents.count)
        if let old = nodes[parent.number]?.children[parent.name] { drop(old) }
        bytesStored += UInt64(bytes.count)
        let stored = insert(node, at: parent)
        record(key)
        noteChange(at: key)
        contents.append(SimulatedContent(bytes: bytes, author: client, key: key, etags: [etag]))
        return object(parent.name, stored)
    }

    /// Copies a file or symbolic link. Its bytes keep their author.
    mutating func copy(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        nonce: WriteNonce? = nil
    ) throws(ProviderError) -> RemoteObject {
        let original = try node(key)
        try expectVersion(etag, of: original)
        guard original.kind == .file else { return try create(original, at: destination) }
        let copy = try write(
            destination, bytes: original.bytes, attributes: original.attributes, base: base,
            nonce: nonce ?? original.nonce)
        if let content = original.content {
            contents[contents.count - 1].author = contents[content].author
        }
        return copy
    }

    /// The result of ``copy(_:etag:to:base:nonce:)``, if the same call was made before.
    func existingCopy(
        of key: ObjectKey, etag: ETag?, at destination: ObjectKey, nonce: WriteNonce?
    ) -> RemoteObject? {
        guard key != destination, let original = try? node(key), original.kind == .file,
            original.etag == etag, let copy = try? node(destination), copy.etag != etag,
            copy.nonce != nil, copy.nonce == nonce ?? original.nonce, copy.bytes == original.bytes,
            copy.modified == original.modified
        else { return nil }
        return try? object(destination)
    }

    /// ``copy(_:etag:to:base:)`` to a free key, with the version mark of the original.
    mutating func copyVersion(_ key: ObjectKey, to destination: ObjectKey) throws(ProviderError) {
        let etag = try node(key).etag
        _ = try copy(key, etag: etag, to: destination, base: .absent)
        let number = try number(of: destination)
        guard let etag, let content = nodes[number]?.content else { return }
        nodes[number]?.etag = etag
        contents[content].etags.append(etag)
        noteChange(at: destination)
    }

    mutating func create(_ node: Node, at key: ObjectKey) throws(ProviderError) -> RemoteObject {
        if key == .root { throw ProviderError(.exists, "the root is always there") }
        let parent = try parent(of: key)
        try expect(.absent, at: key)
        noteChange(at: key)
        return object(parent.name, insert(node, at: parent))
    }

    mutating func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields = .all,
        etag: ETag?, nonce: WriteNonce? = nil
    ) throws(ProviderError) -> RemoteObject {
        let parent = try parent(of: key)
        let number = try number(of: key)
        var node = node(number)
        try expectVersion(etag, of: node)
        let attributes = attributes.applying(only: fields, to: object(parent.name, node))
        if node.kind == .file, node.modified != attributes.modified {
            let etag = nextVersion()
            node.etag = etag
            if let content = node.content { contents[content].etags.append(etag) }
        }
        node.nonce = nonce ?? node.nonce
        node.modified = attributes.modified
        node.mode = attributes.mode
        node.extendedAttributes = attributes.extendedAttributes
        node.remoteModified = nextWrite()
        nodes[number] = node
        record(key)
        noteChange(at: key)
        return object(parent.name, node)
    }

    mutating func setHeaders(
        of key: ObjectKey, mode: UInt16, modified: Timestamp
    ) throws(ProviderError) {
        let number = try number(of: key)
        var node = node(number)
        (node.mode, node.modified, node.remoteModified) = (mode, modified, nextWrite())
        nodes[number] = node
        noteChange(at: key)
    }

    mutating func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion
    ) throws(ProviderError) -> RemoteObject {
        let from = try parent(of: key)
        let number = try number(of: key)
        let moved = node(number)
        try expectVersion(etag, of: moved)
        var to = try parent(of: destination)
        if client == .other, to == from, let name = destination.names.last {
            to.name = stored(name)
        } else {
            try expect(base, at: destination)
        }
        if base != .absent, moved.kind == .directory {
            throw ProviderError(.wrongKind, "a directory cannot replace a file")
        }
        if moved.kind == .directory, isBelow(destination, key) {
            throw ProviderError(.unsupported, "a directory cannot move below itself")
        }
        if let old = nodes[to.number]?.children[to.name], old != number { drop(old) }
        nodes[from.number]?.children[from.name] = nil
        nodes[to.number]?.children[to.name] = number
        recordAll(number, destination)
        noteChange(at: key, ofPlace: true)
        noteChange(at: destination, ofPlace: true)
        return object(to.name, moved)
    }

    mutating func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) throws(ProviderError) {
        let parent = try parent(of: key)
        let number = try number(of: key)
        let node = node(number)
        guard node.kind == kind else { throw ProviderError(.wrongKind, "it is no \(kind)") }
        if let etag, node.etag != etag { throw ProviderError(.changed, "it is another version") }
        guard node.children.isEmpty else { throw ProviderError(.notEmpty, "it is not empty") }
        nodes[parent.number]?.children[parent.name] = nil
        drop(number)
        noteChange(at: key, ofPlace: true)
    }

    /// Deletes an object with all its descendants.
    mutating func deleteTree(_ key: ObjectKey) throws(ProviderError) {
        let parent = try parent(of: key)
        let number = try number(of: key)
        nodes[parent.number]?.children[parent.name] = nil
        dropTree(number)
        noteChange(at: key, ofPlace: true)
    }

    private mutating func dropTree(_ number: Int) {
        for child in node(number).children.values { dropTree(child) }
        drop(number)
    }

    // MARK: Helpers

    private func node(_ number: Int) -> Node {
        guard let node = nodes[number] else {
            preconditionFailure("a name in a simulated store leads to node \(number)")
        }
        return node
    }

    private func object(_ name: FileName, _ node: Node) -> RemoteObject {
        RemoteObject(
            name: name, kind: node.kind, etag: node.etag, size: UInt64(node.bytes.count),
            modified: node.modified, mode: node.mode, target: node.target,
            remoteModified: node.kind == .file ? node.remoteModified : nil,
            extendedAttributes: node.kind == .symlink ? nil : node.extendedAttributes,
            nonce: node.nonce)
    }

    private func parent(of key: ObjectKey) throws(ProviderError) -> (number: Int, name: FileName) {
        guard let parent = key.parent, let name = key.names.last else {
            throw ProviderError(.unsupported, "the root itself stays as it is")
        }
        let number = try number(of: parent)
        guard node(number).kind == .directory else {
            throw ProviderError(.missing, "its parent is not a directory")
        }
        return (number, spelling(of: name, in: number))
    }

    /// Whether a key is that of an object, or of one below it.
    func isBelow(_ key: ObjectKey, _ ancestor: ObjectKey) -> Bool {
        names.key(of: key).names.starts(with: names.key(of: ancestor).names)
    }

    /// Returns the name under which a directory has an object or gets a new one. An object keeps its
    /// name when it is replaced.
    private func spelling(of name: FileName, in directory: Int) -> FileName {
        guard names.isFolding, let children = nodes[directory]?.children else { return name }
        let key = names.key(of: name)
        return children.keys.first { names.key(of: $0) == key } ?? stored(name)
    }

    private func stored(_ name: FileName) -> FileName {
        guard decomposesNames, let text = String(validating: name.bytes, as: UTF8.self) else {
            return name
        }
        return FileName(text.decomposedStringWithCanonicalMapping) ?? name
    }

    private func expect(_ base: BaseVersion, at key: ObjectKey) throws(ProviderError) {
        switch base {
        case .absent:
            if (try? number(of: key)) != nil {
                throw ProviderError(.exists, "something has this name")
            }
        case .version(let etag):
            let node = try node(key)
            guard node.kind == .file, node.etag == etag else {
                throw ProviderError(.changed, "it is another version")
            }
        }
    }

    private func expectVersion(_ etag: ETag?, of node: Node) throws(ProviderError) {
        guard (etag != nil) == (node.kind == .file) else {
            throw ProviderError(.wrongKind, "it is not of the kind that was named")
        }
        guard etag == nil || node.etag == etag else {
            throw ProviderError(.changed, "it is another version")
        }
    }

    private mutating func insert(
        _ node: Node, at parent: (number: Int, name: FileName)
    ) -> Node {
        lastNumber += 1
        var node = node
        node.remoteModified = nextWrite()
        nodes[lastNumber] = node
        nodes[parent.number]?.children[parent.name] = lastNumber
        return node
    }

    private mutating func drop(_ number: Int) {
        bytesStored -= UInt64(node(number).bytes.count)
        if let content = node(number).content { contents[content].endedBy = client }
        nodes[number] = nil
    }

    private mutating func nextWrite() -> Timestamp {
        lastWrite += 1
        return Timestamp(nanoseconds: lastWrite)
    }

    mutating func nextVersion() -> ETag {
        lastVersion += 1
        return ETag("v\(lastVersion)")
    }

    private mutating func record(_ key: ObjectKey) {
        guard let node = try? node(key), node.kind == .file, let etag = node.etag else { return }
        history[key, default: []].append(SimulatedVersion(etag: etag, bytes: node.bytes))
    }

    private mutating func recordAll(_ number: Int, _ key: ObjectKey) {
        record(key)
        for (name, child) in node(number).children {
            recordAll(child, key.appending(name))
        }
    }
}
