import Synchronization

/// The open files of which bytes are to be fetched ahead of their readers, in request order.
///
/// Each in turn gets one piece, so that the files share the pieces that are fetched side by side.
final class ReadAheadQueue: Sendable {
    private struct State {
        var queue: [InodeNumber] = []
        var running: [InodeNumber: Int] = [:]
        var runningCount = 0

        /// Does nothing if the file is there already: one that was closed and opened again meanwhile is
        /// requested again.
        mutating func append(_ inode: InodeNumber) {
            if !queue.contains(inode) { queue.append(inode) }
        }

        /// Returns how many pieces each file may have in flight. One that is alone leaves some to the next.
        func share(of piecesMax: Int) -> Int {
            let files = running.keys.count { !queue.contains($0) } + queue.count
            let alone = min(filePiecesMax, piecesMax - piecesMax / 8)
            return max(1, min(alone, piecesMax / max(1, files)))
        }
    }

    /// The pieces in flight of one file.
    fileprivate static let filePiecesMax = 28
    /// Further files are fetched as they are read.
    private static let filesMax = 1_024

    /// The pieces in flight of all files together.
    private let piecesMax: Int
    private let state = Mutex(State())
    /// Notified when a file is added, or a piece has ended.
    let signal = Signal()

    init(piecesMax: Int) {
        self.piecesMax = piecesMax
    }

    /// Schedules fetches ahead of the readers of a file.
    func request(_ file: OpenFile) {
        let isNew = file.state.withLock { state in
            guard !state.ahead.isQueued, state.stored != .whole, !state.isWhole else {
                return false
            }
            state.ahead.isQueued = true
            return true
        }
        guard isNew else { return }
        let isQueued = state.withLock { state in
            guard state.queue.count < Self.filesMax else { return false }
            state.append(file.inode)
            return true
        }
        guard isQueued else { return file.state.withLock { $0.ahead.isQueued = false } }
        signal.notify()
    }

    /// Returns a file that may have another piece in flight, and counts that piece; nil if there is
    /// none until ``signal``.
    func next() -> InodeNumber? {
        state.withLock { state in
            guard state.runningCount < piecesMax else { return nil }
            let share = state.share(of: piecesMax)
            guard
                let index = state.queue.firstIndex(where: { state.running[$0, default: 0] < share })
            else { return nil }
            let inode = state.queue.remove(at: index)
            state.running[inode, default: 0] += 1
            state.runningCount += 1
            return inode
        }
    }

    /// Whether bytes are being fetched ahead of readers.
    var isBusy: Bool { state.withLock { $0.runningCount > 0 } }

    /// Puts a file back that has got a piece, behind the others.
    func append(_ inode: InodeNumber) {
        state.withLock { $0.append(inode) }
    }

    /// Records that a piece of ``next()`` has ended, or that there was none to fetch.
    func end(_ inode: InodeNumber) {
        state.withLock { state in
            state.runningCount -= 1
            let count = state.running[inode, default: 1] - 1
            state.running[inode] = count > 0 ? count : nil
        }
        signal.notify()
    }
}

/// The bytes fetched ahead of the readers of one file.
struct ReadAheadState {
    /// Whether ``ReadAheadQueue`` has the file.
    var isQueued = false
    /// The pieces in flight.
    var pieces = 0
    /// Until this moment nothing is fetched ahead, as that has failed.
    var pausedUntil: Duration = .zero
}

/// How far files are fetched ahead, as the state of the cache allows it.
struct AheadLimits {
    /// Whether the cache has room without evicting other bytes.
    var hasRoom: Bool
    /// The most bytes ahead of one reader.
    var windowBytes: UInt64
    /// The longest piece.
    var pieceBytes: UInt64
    /// The longest piece that no reader is near.
    var fillBytes: UInt64
    /// A file up to this size is fetched as a whole once it is read.
    var smallBytes: UInt64

    /// The shortest piece of a longer window: its request costs as much as so many bytes.
    private static let pieceBytesMin: UInt64 = 2 << 20

    /// Returns the length of the pieces of a window, so that all connections of a file share a long one. A
    /// multiple of the kernel's shorter reads, so that few need two pieces.
    func pieceBytes(window: UInt64) -> UInt64 {
        let share = window / UInt64(ReadAheadQueue.filePiecesMax) & ~(128 << 10 - 1)
        return min(pieceBytes, max(min(window, Self.pieceBytesMin), share))
    }
}

/// A range to fetch ahead of a reader.
struct AheadPiece: Equatable {
    var range: Range<UInt64>
    /// Whether no reader is near: the file is to become whole.
    var isFill = false
}

extension OpenFile.State {
    /// Returns the next range to fetch ahead of a reader; nil if nothing is likely to be needed.
    func nextAhead(_ limits: AheadLimits, at now: Duration) -> AheadPiece? {
        guard stored != .whole, now >= ahead.pausedUntil else { return nil }
        for window in reads.ahead(windowMax: limits.windowBytes, at: now) {
            let (start, end) = (min(window.lowerBound, size), min(window.upperBound, size))
            guard let missing = firstMissing(in: start..<end) else { continue }
            // The last pieces of a file are short, so that no connection has much left when others have none.
            let bytes = limits.pieceBytes(window: min(end - start, size - missing.lowerBound))
            // Not a few bytes after each read, but a piece once the window has room for it.
            let isNear = missing.lowerBound - start < UInt64(window.count) / 2
            guard isNear || missing.lowerBound + bytes <= end || end == size else { continue }
            let full = missing.lowerBound..<min(size, missing.lowerBound + bytes)
            return AheadPiece(range: firstMissing(in: full) ?? missing)
        }
        return nextToFill(limits)
    }

    /// Returns the next range of a file that is to become whole, one at a time.
    private func nextToFill(_ limits: AheadLimits) -> AheadPiece? {
        let isToFill = isChanged || size <= limits.smallBytes || reads.isSteady
        guard isToFill, limits.hasRoom, !isStreamed, ahead.pieces == 0 else { return nil }
        let start = min(reads.position, size)
        guard let missing = firstMissing(in: start..<size) ?? firstMissing(in: 0..<start) else {
            return nil
        }
        let end = min(missing.upperBound, missing.lowerBound + limits.fillBytes)
        return AheadPiece(range: missing.lowerBound..<end, isFill: true)
    }
}
