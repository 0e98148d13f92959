import Synchronization

/// Pieces of which requests wait for a part, and which ``Downloader/run()`` has not begun yet.
///
/// The number of requests is their bound.
final class DemandedPieces: Sendable {
    private let pieces = Mutex<[FetchedPiece]>([])
    /// Notified when a piece is added.
    let signal = Signal()

    func append(_ piece: FetchedPiece) {
        pieces.withLock { $0.append(piece) }
        signal.notify()
    }

    /// Returns all pieces, and forgets them.
    func takeAll() -> [FetchedPiece] {
        pieces.withLock { pieces in
            defer { pieces = [] }
            return pieces
        }
    }
}
