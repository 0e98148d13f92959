import Synchronization

/// Pieces of which requests wait for a part, and which ``Downloader/run()`` has not begun yet.
///
/// The number of requests is their bound.
final class DemandedPieces: Sendable {
    private struct State {
        var pieces: [FetchedPiece] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Notified when a piece is added.
    let signal = Signal()

    /// - Returns: Whether it is going to be begun: none is after ``close()``.
    func append(_ piece: FetchedPiece) -> Bool {
        let isAccepted = state.withLock { state in
            if !state.isClosed { state.pieces.append(piece) }
            return !state.isClosed
        }
        signal.notify()
        return isAccepted
    }

    /// Returns all pieces, and forgets them.
    func takeAll() -> [FetchedPiece] {
        state.withLock { state in
            defer { state.pieces = [] }
            return state.pieces
        }
    }

    /// Accepts no more pieces, at the end of the mount.
    ///
    /// - Returns: Those that were not begun.
    func close() -> [FetchedPiece] {
        state.withLock { $0.isClosed = true }
        return takeAll()
    }
}
