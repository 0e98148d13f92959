import Foundation

/// The capabilities of a store as an earlier mount found them, for a mount that begins while the store
/// is out of reach.
package struct KnownRemote: Codable, Sendable {
    /// The source with all its parameters: other ones may have other traits.
    package let source: String
    /// Without ``ProviderTraits/extendedAttributes``.
    package let traits: ProviderTraits
    /// ``ExtendedAttributeSpace/bytesMax``; nil if the store keeps none.
    package let extendedAttributesBytesMax: Int?
    /// The identity of the source's root; nil if the store has none.
    package private(set) var root: String?

    package init(source: String, traits: ProviderTraits, root: String? = nil) {
        self.source = source
        self.traits = traits
        self.root = root
        extendedAttributesBytesMax = traits.extendedAttributes?.bytesMax
    }
}

extension KnownRemote {
    /// Whether a store has the same capabilities, by whatever root.
    package func isCapable(as other: KnownRemote) -> Bool {
        var (own, other) = (self, other)
        (own.root, other.root) = (nil, nil)
        return own == other
    }
}

extension KnownRemote: Equatable {
    package static func == (left: Self, right: Self) -> Bool {
        left.encoded != nil && left.encoded == right.encoded
    }

    /// As JSON; equal for equal values.
    var encoded: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// - Returns: nil for text that this version does not understand.
    init?(encoded text: String) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else {
            return nil
        }
        self = value
    }
}
