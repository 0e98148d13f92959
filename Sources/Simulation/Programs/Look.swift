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
        links = node.kind != .directory && node.isNamed ? 1 : 0
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
