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
