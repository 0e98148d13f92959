package import Engine

/// A source whose bytes become due one after the other, as over a slow line.
///
/// A provider that knows of it asks before it takes a piece, and so is slowed down without a
/// blocked thread. For one that does not, it is a source like any other.
package protocol PacedByteSource: ByteSource {
    /// How many bytes are best taken at a time.
    var pieceBytes: UInt64 { get }

    /// Returns once the bytes before `offset` may be taken.
    ///
    /// - Throws: `CancellationError`.
    func waitUntilDue(_ offset: UInt64) async throws
}
