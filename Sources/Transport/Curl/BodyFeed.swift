import Synchronization

/// The body of a request as libcurl reads it: a part of a source, and a position in it.
///
/// A source may wait for a disk or a lock. So it is read on a thread of a pool, one piece ahead, and
/// libcurl is paused while the next piece is not there yet. Bytes in memory are read at once.
final class BodyFeed: Sendable {
    /// How many bytes are read at once: as many as libcurl takes.
    static let pieceBytes = 128 << 10

    enum Portion {
        /// Empty at the end.
        case bytes(count: Int)
        /// Ask again after `onChange` was called.
        case notYet
        case failed(any Error)
    }

    fileprivate enum Piece {
        case none
        case reading
        case ready([UInt8], used: Int)
        case failed(any Error)
    }

    fileprivate struct State {
        /// The offset of the next byte for libcurl, counted from the start of the range.
        var position: UInt64 = 0
        /// The piece at ``position``.
        var piece = Piece.none
        /// Increased by each seek, so that a piece of another position is not taken.
        var seeks = 0
        /// Whether libcurl waits for a piece.
        var isPaused = false
        /// Whether a job of the pool is queued or running.
        var isRunning = false
        var isEnded = false
        var onChange: (@Sendable () -> Void)?
        var onEnd: (@Sendable () -> Void)?
    }

    private let source: any HTTPBodySource
    private let range: Range<UInt64>
    /// nil if the source is read on the transport's thread.
    private let pool: BodyPool?
    private let state = Mutex(State())

    /// - Returns: nil for a request without a body.
    init?(_ body: HTTPBody, on pool: BodyPool) {
        switch body {
        case .none: return nil
        case .bytes(let bytes):
            (source, range) = (BytesSource(bytes: bytes), 0..<UInt64(bytes.count))
            self.pool = nil
        case .source(let source, let range):
            (self.source, self.range) = (source, range)
            self.pool = pool
        }
    }

    var byteCount: UInt64 { UInt64(range.count) }
    var position: UInt64 { state.withLock(\.position) }
    var isAtEnd: Bool { position >= byteCount }
    /// Whether libcurl is paused because the source has not been read yet.
    var isPaused: Bool { state.withLock(\.isPaused) }

    /// Sets the handler that is called, on any thread, when a paused body can be read again.
    func onChange(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = handler }
    }

    /// Reads the next bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        guard let pool else { return readAtOnce(into: buffer) }
        let (portion, isNew) = state.withLock { state -> (Portion, Bool) in
            guard state.position < byteCount else { return (.bytes(count: 0), false) }
            switch state.piece {
            case .failed(let error): return (.failed(error), false)
            case .ready(let bytes, let used):
                let count = min(buffer.count, bytes.count - used)
                bytes.withUnsafeBytes { bytes in
                    buffer.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: bytes[used...].prefix(count)))
                }
                state.position += UInt64(count)
                let isUsedUp = used + count == bytes.count
                state.piece = isUsedUp ? .none : .ready(bytes, used: used + count)
                guard isUsedUp, state.position < byteCount else {
                    return (.bytes(count: count), false)
                }
                return (.bytes(count: count), state.beginReading())
            case .none, .reading:
                state.isPaused = true
                return (.notYet, state.beginReading())
            }
        }
        if isNew { pool.run { self.work() } }
        return portion
    }

    /// Sets the position of the next byte, for sending the body again.
    func seek(to offset: UInt64) {
        state.withLock { state in
            state.position = offset
            state.seeks += 1
            state.piece = .none
            // libcurl asks again by itself.
            state.isPaused = false
        }
    }

    /// Calls `handler` once the source is not read any more.
    func end(_ handler: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            state.isEnded = true
            state.onChange = nil
            if state.isRunning { state.onEnd = handler }
            return !state.isRunning
        }
        if isIdle { handler() }
    }

    private func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        let position = position
        guard position < byteCount else { return .bytes(count: 0) }
        do {
            let count = try readSource(into: buffer, at: position)
            state.withLock { $0.position += UInt64(count) }
            return .bytes(count: count)
        } catch {
            return .failed(error)
        }
    }

    /// - Throws: The source's error, or ``HTTPBodySourceEnded``.
    private func readSource(
        into buffer: UnsafeMutableRawBufferPointer, at position: UInt64
    ) throws -> Int {
        let piece = UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(clamping: byteCount - position)))
        let offset = range.lowerBound + position
        let count = try source.read(into: piece, at: offset)
        guard count > 0 else { throw HTTPBodySourceEnded(offset: offset) }
        return count
    }

    // MARK: On a thread of the pool

    private func work() {
        while let (position, seeks) = state.withLock({ $0.nextJob() }) {
            let result = Result { try piece(at: position) }
            let onChange = state.withLock { state -> (@Sendable () -> Void)? in
                // A seek meanwhile needs another piece.
                guard state.seeks == seeks else { return nil }
                switch result {
                case .success(let bytes): state.piece = .ready(bytes, used: 0)
                case .failure(let error): state.piece = .failed(error)
                }
                defer { state.isPaused = false }
                return state.isPaused ? state.onChange : nil
            }
            onChange?()
        }
        state.withLock { $0.onEnd.take() }?()
    }

    private func piece(at position: UInt64) throws -> [UInt8] {
        let count = Int(min(UInt64(Self.pieceBytes), byteCount - position))
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = try readSource(into: UnsafeMutableRawBufferPointer(buffer), at: position)
        }
    }
}

extension BodyFeed.State {
    /// - Returns: Whether a job must be started.
    fileprivate mutating func beginReading() -> Bool {
        piece = .reading
        defer { isRunning = true }
        return !isRunning
    }

    /// - Returns: nil if nothing is to be read; the job then ends.
    fileprivate mutating func nextJob() -> (position: UInt64, seeks: Int)? {
        guard case .reading = piece, !isEnded else {
            isRunning = false
            return nil
        }
        return (position, seeks)
    }
}
