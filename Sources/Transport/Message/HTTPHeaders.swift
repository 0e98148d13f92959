/// The header fields of an answer, in order of arrival.
package struct HTTPHeaders: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        /// In lower case.
        package let name: String
        package let value: String
    }

    private var fields: [Field] = []

    package init() {}

    package init(_ fields: [(name: String, value: String)]) {
        for field in fields { append(field.name, field.value) }
    }

    /// The first value of a field; nil if it is missing.
    ///
    /// - Parameter name: In any case.
    package subscript(name: String) -> String? {
        let name = Self.inLowerCase(name)
        return fields.first { $0.name == name }?.value
    }

    /// Returns all values of a field that may occur several times.
    package func all(_ name: String) -> [String] {
        let name = Self.inLowerCase(name)
        return fields.filter { $0.name == name }.map(\.value)
    }

    mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: Self.inLowerCase(name), value: value))
    }

    /// Most names are already, and `lowercased()` allocates memory for each of 16 bytes or more.
    private static func inLowerCase(_ name: String) -> String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        return name.utf8.contains(where: capitals.contains) ? name.lowercased() : name
    }

    /// Continues the last value, as a line that begins with a blank does. RFC 9112: obs-fold.
    mutating func fold(_ value: String) {
        guard let last = fields.popLast() else { return }
        fields.append(Field(name: last.name, value: "\(last.value) \(value)"))
    }
}

extension HTTPHeaders: Sequence {
    package func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }
}
