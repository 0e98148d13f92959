package import Engine

/// The object under one key in a snapshot of a simulated store.
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

/// The content of one write to a simulated store during its lifetime, under any names and with any
/// attributes.
package struct SimulatedContent: Hashable, Sendable {
    /// Who changes the store.
    package enum Client: Hashable, Sendable {
        case mount
        case other
    }

    package let bytes: [UInt8]
    package internal(set) var author: Client
    /// Its first key.
    package let key: ObjectKey
    /// The versions that it had, for setting attributes makes a new one.
    package var etags: [ETag]
    /// Who overwrote or deleted it; nil while it is there.
    package var endedBy: Client?
}
