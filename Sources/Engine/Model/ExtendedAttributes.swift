/// The extended attributes of an object that programs set: names and values, both bytes. xattr(7).
///
/// They are sent, compared and agreed on only as a whole set.
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

    /// The names in byte order.
    package var names: [[UInt8]] { values.keys.sorted { $0.lexicographicallyPrecedes($1) } }

    /// The total size of all names and values, in bytes.
    package var byteCount: Int { values.reduce(0) { $0 + $1.key.count + $1.value.count } }

    /// Whether programs may set a name: only `user.` names are kept, except Apus's own. Attributes
    /// that belong to this machine (access lists, capabilities, labels) are not kept.
    package static func isKept(_ name: [UInt8]) -> Bool {
        name.starts(with: "user.".utf8) && !name.starts(with: "user.apus.".utf8)
            && (6...nameBytesMax).contains(name.count) && !name.contains(0)
    }

    /// Returns `other` with the changes made from `base` to these attributes: attributes set,
    /// changed or removed since `base` stay so, all others are as in `other`.
    package func rebased(
        from base: ExtendedAttributes, onto other: ExtendedAttributes
    ) -> ExtendedAttributes {
        var result = other
        for (name, value) in values where base[name] != value { result[name] = value }
        for name in base.values.keys where values[name] == nil { result[name] = nil }
        return result
    }

    // MARK: Stored

    /// The encoding, in the order of the names: one byte for the length of the name, the name, four
    /// little-endian bytes for the length of the value, the value. Equal sets have equal encodings.
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

    /// - Returns: nil if the bytes are not an ``encoded`` set.
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

/// The extended attributes that a store can keep.
package struct ExtendedAttributeSpace: Sendable {
    /// Limit for the attributes of one object, in bytes as the store encodes them.
    package var bytesMax: Int
    /// Returns the encoded size of attributes.
    package var bytes: @Sendable (ExtendedAttributes) -> Int

    package init(bytesMax: Int, bytes: @escaping @Sendable (ExtendedAttributes) -> Int) {
        self.bytesMax = bytesMax
        self.bytes = bytes
    }
}
