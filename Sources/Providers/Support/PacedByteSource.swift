package import Engine

/// A source whose bytes become due over time, as over a slow line.
///
/// A provider that knows this protocol waits before it reads a piece, and so is slowed down without
/// a blocked thread. For other providers it is an ordinary source.
package protocol PacedByteSource: ByteSource {
    /// The preferred number of bytes per read.
    var pieceBytes: UInt64 { get }

    /// Returns once the bytes before `offset` may be read.
    ///
    /// - Throws: `CancellationError`.
    func waitUntilDue(_ offset: UInt64) async throws
}
