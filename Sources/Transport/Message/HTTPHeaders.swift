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
        let name = name.lowercased()
        return fields.first { $0.name == name }?.value
    }

    /// Returns all values of a field that may occur several times.
    package func all(_ name: String) -> [String] {
        let name = name.lowercased()
        return fields.filter { $0.name == name }.map(\.value)
    }

    mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name.lowercased(), value: value))
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
