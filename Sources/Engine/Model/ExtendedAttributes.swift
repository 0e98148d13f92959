/// The extended attributes that programs gave an object: names and values, both bytes. xattr(7).
///
/// What is sent, and what both sides agree on, are all of them at once.
package struct ExtendedAttributes: Hashable, Sendable {
    /// Linux: `XATTR_NAME_MAX`, `XATTR_SIZE_MAX`.
    package static let nameBytesMax = 255
    package static let valueBytesMax = 65_536

    private var values: [[UInt8]: [UInt8]] = [:]

    package init() {}

    package subscript(name: [UInt8]) -> [UInt8]? {
        get { values[name] }
        set { values[name] = newValue }
    }

    package var isEmpty: Bool { values.isEmpty }

    /// The names, in the order of their bytes.
    package var names: [[UInt8]] { values.keys.sorted { $0.lexicographicallyPrecedes($1) } }

    /// The bytes of all names and values.
    package var byteCount: Int { values.reduce(0) { $0 + $1.key.count + $1.value.count } }

    /// Whether a name is one that programs may give: `user.` and more. Those of Apus itself are not
    /// kept, nor is what belongs to this machine: access lists, capabilities, labels.
    package static func isKept(_ name: [UInt8]) -> Bool {
        name.starts(with: "user.".utf8) && !name.starts(with: "user.apus.".utf8)
            && (6...nameBytesMax).contains(name.count) && !name.contains(0)
    }

    /// These, as they were changed since they were `base`, on top of `other`: what was set, changed
    /// or removed since stays so, the rest is as in `other`.
    package func rebased(
        from base: ExtendedAttributes, onto other: ExtendedAttributes
    ) -> ExtendedAttributes {
        var result = other
        for (name, value) in values where base[name] != value { result[name] = value }
        for name in base.values.keys where values[name] == nil { result[name] = nil }
        return result
    }

    // MARK: Stored

    /// One after the other in the order of their names: a byte with the length of the name, the
    /// name, four bytes with that of the value, lowest first, the value. Equal sets are equal bytes.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for name in names {
            let value = values[name] ?? []
            bytes.append(UInt8(name.count))
            bytes += name
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: value.count >> ($0 * 8)) }
            bytes += value
        }
        return bytes
    }

    /// - Returns: nil for what ``encoded`` never is.
    package init?(encoded bytes: some Sequence<UInt8>) {
        var rest = Array(bytes)[...]
        while let nameCount = rest.popFirst() {
            let name = Array(rest.prefix(Int(nameCount)))
            rest = rest.dropFirst(name.count)
            let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            guard name.count == nameCount, nameCount > 0, rest.count >= 4 + count else {
                return nil
            }
            values[name] = Array(rest.dropFirst(4).prefix(count))
            rest = rest.dropFirst(4 + count)
        }
    }
}

/// What of extended attributes a store can keep.
package struct ExtendedAttributeSpace: Sendable {
    /// What those of one object may take, in bytes as the store writes them.
    package var bytesMax: Int
    /// What some take.
    package var bytes: @Sendable (ExtendedAttributes) -> Int

    package init(bytesMax: Int, bytes: @escaping @Sendable (ExtendedAttributes) -> Int) {
        self.bytesMax = bytesMax
        self.bytes = bytes
    }
}
