package import Engine

/// What a snapshot of a simulated store holds under one key.
package enum SimulatedSnapshotEntry: Hashable, Sendable {
    case file([UInt8])
    case directory
    case symlink(target: [UInt8])
}

/// One version that a key once held.
package struct SimulatedVersion: Hashable, Sendable {
    package let etag: ETag
    package let bytes: [UInt8]
}

/// What one write brought into a simulated store, for as long as it was there, under whatever names
/// and with whatever attributes.
package struct SimulatedContent: Hashable, Sendable {
    /// Who changes the store.
    package enum Client: Hashable, Sendable {
        case mount
        case other
    }

    package let bytes: [UInt8]
    package internal(set) var author: Client
    /// Where it was first.
    package let key: ObjectKey
    /// The versions that it had, for setting attributes makes a new one.
    package var etags: [ETag]
    /// Who overwrote or deleted it; nil while it is there.
    package var endedBy: Client?
}
