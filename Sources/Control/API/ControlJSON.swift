package import FoundationEssentials

/// The JSON of the API and of `--json`: sorted keys, ISO 8601 dates in UTC, unescaped slashes.
package enum ControlJSON {
    /// - Parameter pretty: Whether to indent, over several lines.
    package static func encode(_ value: some Encodable, pretty: Bool = false) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return try encoder.encode(value)
    }

    package static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from bytes: some Sequence<UInt8>
    ) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: Data(bytes))
    }
}

/// A flag that stands in JSON only if it is set.
@propertyWrapper
package struct OmittedIfFalse: Codable, Hashable, Sendable {
    package var wrappedValue: Bool

    package init(wrappedValue: Bool) {
        self.wrappedValue = wrappedValue
    }
}

// Chosen by the synthesised conformances of types with such a flag.

extension KeyedEncodingContainer {
    mutating func encode(_ flag: OmittedIfFalse, forKey key: Key) throws {
        if flag.wrappedValue { try encode(true, forKey: key) }
    }
}

extension KeyedDecodingContainer {
    func decode(_ type: OmittedIfFalse.Type, forKey key: Key) throws -> OmittedIfFalse {
        OmittedIfFalse(wrappedValue: try decodeIfPresent(Bool.self, forKey: key) ?? false)
    }
}
