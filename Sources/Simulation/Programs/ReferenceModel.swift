package import Engine

/// The right answer to every operation on a file tree, as POSIX has it, in the plainest way.
///
/// A value: a copy is a second world. It knows nothing of caches, remotes, users or crashes.
package struct ReferenceModel: Equatable, Sendable {
    /// Names a node for life, as an inode number does.
    package typealias Number = Int

    package struct Node: Equatable, Sendable {
        package let kind: FileKind
        package var mode: UInt16
        package var bytes: [UInt8] = []
        /// The modification time, if a program set it.
        package var modified: Timestamp?
        package var target: [UInt8] = []
        package var extendedAttributes = ExtendedAttributes()
        package var children: [FileName: Number] = [:]
        /// Whether it has a name; one without lives on for those who have it open.
        package var isNamed = true
    }

    /// The possible refusals of an operation. If there are several reasons, POSIX leaves the
    /// choice.
    package struct Refusal: Error, Equatable {
        package var kinds: Set<EngineError.Kind>

        init(_ kinds: EngineError.Kind...) {
            self.kinds = Set(kinds)
        }
    }

    package static let root: Number = 0

    private var nodes: [Number: Node]
    private var lastNumber = 0

    package init() {
        nodes = [Self.root: Node(kind: .directory, mode: 0o755)]
    }

    /// The tree of a remote.
    init(
        _ entries: [ObjectKey: SimulatedSnapshotEntry], _ attributes: [ObjectKey: ObjectAttributes]
    ) {
        self.init()
        for (key, entry) in entries.sorted(by: { $0.key.names.count < $1.key.names.count }) {
            guard let attributes = attributes[key],
                let (name, parent) = try? Path(key.names).place(in: self)
            else { preconditionFailure("\"\(key)\" has no attributes or parent") }
            var node: Node
            switch entry {
            case .directory: node = Node(kind: .directory, mode: attributes.mode)
            case .file(let bytes): node = Node(kind: .file, mode: attributes.mode, bytes: bytes)
            case .symlink(let target):
                node = Node(kind: .symlink, mode: attributes.mode, target: target)
            }
            if node.kind != .directory { node.modified = attributes.modified }
            node.extendedAttributes = attributes.extendedAttributes
            _ = try? create(node, name, in: parent)
        }
    }

    subscript(number: Number) -> Node {
        get {
            guard let node = nodes[number] else {
                preconditionFailure("there is no node \(number)")
            }
            return node
        }
        set { nodes[number] = newValue }
    }

    // MARK: Looking

    package func has(_ number: Number) -> Bool { nodes[number] != nil }

    package func find(_ path: [FileName]) throws(Refusal) -> Number {
        var number = Self.root
        for name in path { number = try child(name, of: number) }
        return number
    }

    package func child(_ name: FileName, of parent: Number) throws(Refusal) -> Number {
        guard let child = try directory(parent).children[name] else { throw Refusal(.notFound) }
        return child
    }

    package func directory(_ number: Number) throws(Refusal) -> Node {
        guard self[number].kind == .directory else { throw Refusal(.notDirectory) }
        return self[number]
    }

    package func file(_ number: Number) throws(Refusal) -> Node {
        switch self[number].kind {
        case .file: return self[number]
        case .directory: throw Refusal(.isDirectory)
        case .symlink: throw Refusal(.invalid)
        }
    }

    /// Returns all named nodes with their paths: parents before children, then by name.
    package func tree() -> [(path: [FileName], number: Number)] {
        var entries: [(path: [FileName], number: Number)] = []
        collect(Self.root, [], into: &entries)
        return entries
    }

    private func collect(
        _ directory: Number, _ path: [FileName],
        into entries: inout [(path: [FileName], number: Number)]
    ) {
        for (name, child) in self[directory].children.sorted(by: { $0.key < $1.key }) {
            entries.append((path + [name], child))
            if self[child].kind == .directory { collect(child, path + [name], into: &entries) }
        }
    }

    // MARK: Making

    package mutating func create(
        _ node: Node, _ name: FileName, in parent: Number
    ) throws(Refusal) -> Number {
        let directory = try directory(parent)
        if directory.children[name] != nil { throw Refusal(.exists) }
        lastNumber += 1
        nodes[lastNumber] = node
        nodes[parent]?.children[name] = lastNumber
        return lastNumber
    }

    // MARK: Removing and renaming

    package mutating func unlink(_ name: FileName, in parent: Number) throws(Refusal) {
        let child = try child(name, of: parent)
        if self[child].kind == .directory { throw Refusal(.isDirectory) }
        remove(name, in: parent)
    }

    package mutating func removeDirectory(_ name: FileName, in parent: Number) throws(Refusal) {
        let child = try child(name, of: parent)
        if !(try directory(child).children.isEmpty) { throw Refusal(.notEmpty) }
        remove(name, in: parent)
    }

    private mutating func remove(_ name: FileName, in parent: Number) {
        guard let child = nodes[parent]?.children.removeValue(forKey: name) else { return }
        nodes[child]?.isNamed = false
    }

    package mutating func rename(
        _ name: FileName, in parent: Number, to newName: FileName, in newParent: Number,
        replaces: Bool
    ) throws(Refusal) {
        let moved = try child(name, of: parent)
        let target = try directory(newParent).children[newName]
        var refusal = Refusal()
        if self[moved].kind == .directory, isNode(newParent, atOrBelow: moved) {
            refusal.kinds.insert(.invalid)
        }
        if let target {
            if !replaces { refusal.kinds.insert(.exists) }
            if target != moved {
                refusal.kinds.formUnion(refusalsToReplace(self[target], by: self[moved]))
            }
        }
        if !refusal.kinds.isEmpty { throw refusal }
        if target == moved { return }
        if target != nil { remove(newName, in: newParent) }
        nodes[parent]?.children[name] = nil
        nodes[newParent]?.children[newName] = moved
    }

    private func refusalsToReplace(_ target: Node, by moved: Node) -> Set<EngineError.Kind> {
        switch (moved.kind == .directory, target.kind == .directory) {
        case (true, false): [.notDirectory]
        case (false, true): [.isDirectory]
        case (true, true): target.children.isEmpty ? [] : [.notEmpty]
        case (false, false): []
        }
    }

    private func isNode(_ number: Number, atOrBelow ancestor: Number) -> Bool {
        number == ancestor
            || self[ancestor].children.values.contains { isNode(number, atOrBelow: $0) }
    }

    // MARK: Changing

    /// - Parameter value: nil to remove it.
    package mutating func setAttribute(
        _ name: String, to value: [UInt8]?, of number: Number
    ) throws(Refusal) {
        let name = Array(name.utf8)
        if value == nil, self[number].extendedAttributes[name] == nil {
            throw Refusal(.noAttribute)
        }
        nodes[number]?.extendedAttributes[name] = value
    }

    package mutating func write(_ bytes: [UInt8], at offset: Int, of number: Number) {
        guard !bytes.isEmpty, var node = nodes[number] else { return }
        // Out of the table first, so that the bytes are changed in place.
        nodes[number] = nil
        node.bytes.write(bytes, at: offset)
        node.modified = nil
        nodes[number] = node
    }

    /// Returns a copy with the times of `other` for files whose bytes differ in it.
    func withTimes(ofWhatChangedIn other: ReferenceModel) -> ReferenceModel {
        var model = self
        for (number, node) in nodes {
            guard let changed = other.nodes[number], changed.bytes != node.bytes else { continue }
            model.nodes[number]?.modified = changed.modified
        }
        return model
    }

    package mutating func resize(_ number: Number, to size: Int) throws(Refusal) {
        _ = try file(number)
        nodes[number]?.modified = nil
        nodes[number]?.bytes.resize(to: size)
    }
}
