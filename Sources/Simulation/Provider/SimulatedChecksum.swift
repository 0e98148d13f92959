import Engine

/// The checksums that a store keeps.
package enum SimulatedChecksumKind: Sendable {
    /// The store keeps none.
    case none
    /// The store says that it is a checksum.
    case declared
    /// It only looks like a checksum, but is one.
    case lookalike
    /// The store says that it is a checksum, but it is that of other bytes.
    case wrong
    /// It looks like a checksum, and is that of other bytes.
    case unrelated
    /// As ``lookalike`` for files that begin with an even byte, otherwise as ``unrelated``.
    case mixed
}

/// A checksum that is never the same for other bytes, since it consists of them.
struct SimulatedChecksum: ContentChecksum {
    private(set) var value: [UInt8] = []
    let expected: [UInt8]
    let isDeclared: Bool

    init?(_ kind: SimulatedChecksumKind, of bytes: [UInt8]) {
        switch kind {
        case .none: return nil
        case .declared, .lookalike: expected = bytes
        case .wrong, .unrelated: expected = [0] + bytes
        case .mixed: expected = (bytes.first ?? 0) % 2 == 0 ? bytes : [0] + bytes
        }
        isDeclared = kind == .declared || kind == .wrong
    }

    mutating func update(_ piece: UnsafeRawBufferPointer) { value += piece }
}
