import Foundation

/// The names that a store takes for one.
///
/// This is the only place that compares names other than by their bytes.
package enum NameMatching: String, Codable, Hashable, Sendable {
    /// Names with the same bytes.
    case exact
    /// Names that are equal in Unicode's sense, such as composed and decomposed é.
    case composition
    /// In addition, names that differ in upper and lower case only.
    case caseless

    /// Whether two different names may be those of one object.
    package var isFolding: Bool { self != .exact }

    /// Returns the key of a name: names that the store takes for one have equal keys.
    ///
    /// It may be equal for further names. Such a name is not sent while the other one has it, which
    /// is inconvenient; names that are wrongly kept apart would replace each other.
    package func key(of name: FileName) -> FileName {
        guard isFolding else { return name }
        if name.bytes.allSatisfy({ $0 < 0x80 }) {
            return self == .caseless ? Self.lowercased(name) : name
        }
        guard let text = String(validating: name.bytes, as: UTF8.self) else {
            return self == .caseless ? Self.lowercased(name) : name
        }
        let decomposed = text.decomposedStringWithCanonicalMapping
        guard self == .caseless else { return FileName(stored: Array(decomposed.utf8)) }
        var folded = decomposed.uppercased().lowercased()
        // ext4 and HFS+ ignore them.
        folded.unicodeScalars.removeAll(where: \.properties.isDefaultIgnorableCodePoint)
        return FileName(stored: Array(folded.decomposedStringWithCanonicalMapping.utf8))
    }

    package func key(of key: ObjectKey) -> ObjectKey {
        isFolding ? ObjectKey(key.names.map { self.key(of: $0) }) : key
    }

    private static func lowercased(_ name: FileName) -> FileName {
        FileName(stored: name.bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
    }
}

extension ObjectKey {
    /// Whether some store may take this key for another one.
    func resembles(_ other: ObjectKey) -> Bool {
        names.count == other.names.count
            && NameMatching.caseless.key(of: self) == NameMatching.caseless.key(of: other)
    }
}
