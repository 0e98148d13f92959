import Synchronization

/// A range of a file that is being fetched: writes arriving bytes into the content file, except for
/// ranges written locally meanwhile.
///
/// Bytes count as local as they arrive, if the store has confirmed their version before; otherwise
/// all at the end (I5).
///
/// Several pieces of a file arrive side by side.
final class FetchedPiece: ByteSink {
    /// Ends a fetch ahead of readers that have closed the file, or have gone elsewhere in it.
    private struct Unwanted: Error {}

    private struct Progress {
        /// The bytes up to here have arrived, and count as local.
        var arrived: UInt64
        /// The bytes up to here are in the content file, at least.
        var written: UInt64
        /// The bytes whose version is confirmed.
        var confirmed: Range<UInt64>?
        /// The end of the bytes whose space on the disk is measured, and not reserved any more.
        var measured: UInt64
        /// Whether the file was closed when the last bytes arrived.
        var wasClosed = false
        var isUnwanted = false
        var failure: (any Error)?
    }

    let range: Range<UInt64>
    let reason: Space.FetchReason
    let file: OpenFile
    /// Set if it has a use of the file, see ``OpenFileTable/retainToFetch(_:)``, and a task of its own.
    let flight: Flight?
    private let cache: CacheUse
    /// How far ahead of a reader bytes are fetched; nil if they are needed wherever readers are.
    private let windowBytes: UInt64?
    /// Taken inside the file's lock.
    private let progress: Mutex<Progress>

    /// How many bytes arrive between two measurements of their space.
    private var stepBytes: UInt64 { cache.demandBytes }

    /// - Parameter range: Claimed in ``OpenFile/State/inFlight``.
    init(
        _ range: Range<UInt64>, of file: OpenFile, for reason: Space.FetchReason, cache: CacheUse,
        flight: Flight? = nil, windowBytes: UInt64? = nil
    ) {
        (self.range, self.reason, self.file, self.cache) = (range, reason, file, cache)
        self.flight = flight
        self.windowBytes = windowBytes
        let start = range.lowerBound
        progress = Mutex(Progress(arrived: start, written: start, measured: start))
    }

    /// The bytes that have not arrived yet.
    var rest: Range<UInt64> { progress.withLock { $0.arrived..<range.upperBound } }

    /// Whether it ended because its bytes are not needed any more.
    var isUnwanted: Bool { progress.withLock(\.isUnwanted) }

    /// Why it failed; set before the waits for it end.
    var failure: (any Error)? {
        get { progress.withLock(\.failure) }
        set { progress.withLock { $0.failure = newValue } }
    }

    /// Begins a request for the rest, whose version is not confirmed yet.
    func begin() -> Range<UInt64> {
        progress.withLock { progress in
            progress.confirmed = nil
            progress.written = progress.arrived
            return progress.arrived..<range.upperBound
        }
    }

    func confirm(_ range: Range<UInt64>) {
        let (ended, measured) = file.state.withLock { state in
            progress.withLock { $0.confirmed = range }
            return count(&state)
        }
        for wait in ended { wait.end() }
        cache.release(measured)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        let arriving = offset..<offset + UInt64(bytes.count)
        if reason != .change { try requireUse() }
        let (ended, measured) = try file.arrivals.withShared { try store(bytes, arriving) }
        for wait in ended { wait.end() }
        guard measured > 0 else { return }
        cache.release(measured)
        try requireNeed()
    }

    /// Writes bytes that are not local, and counts them. The lock of the state is free while they are
    /// written, as other pieces arrive and readers take it; but for a file that is being written, whose
    /// modification time a kill would find changed.
    ///
    /// - Returns: As ``count(_:)``.
    private func store(
        _ bytes: UnsafeRawBufferPointer, _ arriving: Range<UInt64>
    ) throws -> ([ByteWait], UInt64) {
        let rest = arriving.clamped(to: rest)
        let early = file.state.withLock { state in
            state.isMarkedWriting ? nil : (gaps: state.present.gaps(in: rest), file: state.file)
        }
        if let early { try Self.write(bytes, from: arriving.lowerBound, early.gaps, early.file) }
        return try file.state.withLock { state in
            if early == nil {
                let gaps = state.present.gaps(in: rest)
                try Self.write(bytes, from: arriving.lowerBound, gaps, state.file)
            }
            // Fetching does not modify a file that is being written.
            if state.isMarkedWriting { try state.file.setModified(state.modified) }
            progress.withLock { progress in
                if arriving.lowerBound == progress.written {
                    progress.written = arriving.upperBound
                }
            }
            return count(&state)
        }
    }

    /// - Parameter start: The offset of the first byte.
    private static func write(
        _ bytes: UnsafeRawBufferPointer, from start: UInt64, _ gaps: [Range<UInt64>],
        _ file: any DiskFile
    ) throws(DiskError) {
        for gap in gaps {
            let part = Int(gap.lowerBound - start)..<Int(gap.upperBound - start)
            try file.write(UnsafeRawBufferPointer(rebasing: bytes[part]), at: gap.lowerBound)
        }
    }

    /// Counts arrived bytes as local as far as their version is confirmed.
    ///
    /// - Returns: The waits to end, and the bytes that need no reservation any more.
    private func count(_ state: inout OpenFile.State) -> ([ByteWait], UInt64) {
        let (counted, step) = progress.withLock { progress -> (Range<UInt64>?, UInt64) in
            // Bytes after others that are not confirmed count with these.
            guard let confirmed = progress.confirmed, confirmed.lowerBound <= progress.arrived,
                progress.arrived < min(progress.written, confirmed.upperBound)
            else { return (nil, 0) }
            let start = progress.arrived
            progress.arrived = min(progress.written, confirmed.upperBound)
            let unmeasured = progress.arrived - progress.measured
            // The first bytes show that something has come.
            let isFirst = progress.measured == range.lowerBound
            guard isFirst || unmeasured >= stepBytes else { return (start..<progress.arrived, 0) }
            progress.measured = progress.arrived
            return (start..<progress.arrived, unmeasured)
        }
        guard let counted else { return ([], 0) }
        if step > 0 { cache.measure(&state) }
        let ended = state.noteArrival(of: counted, isLast: counted.upperBound == range.upperBound)
        return (ended, step)
    }

    /// Ends the fetch if the file is closed. A program that opens it may have none for a moment, after
    /// the first bytes have come.
    private func requireUse() throws {
        let isClosed = !file.isWanted.load(ordering: .relaxed)
        let wasClosed = progress.withLock { progress in
            defer { progress.wasClosed = isClosed }
            return progress.wasClosed
        }
        if isClosed, wasClosed { try giveUp() }
    }

    /// Ends the fetch if the reader has gone elsewhere, and a good part is still to come.
    private func requireNeed() throws {
        guard let windowBytes else { return }
        let rest = rest
        guard UInt64(rest.count) > stepBytes,
            !file.state.withLock({ $0.reads.wants(rest, windowMax: windowBytes) })
        else { return }
        try giveUp()
    }

    private func giveUp() throws {
        progress.withLock { $0.isUnwanted = true }
        throw Unwanted()
    }

    /// Counts all bytes as local: the store has sent all of them, and confirmed their version.
    func finish() {
        file.state.withLock { state in
            let rest = takeRest()
            if !rest.isEmpty { _ = state.noteArrival(of: rest, isLast: true) }
        }
    }

    /// Ends the claim on bytes that have not arrived.
    func endFlight() {
        let ended = file.state.withLock { $0.endFlight(flight, of: takeRest(), in: range) }
        for wait in ended { wait.end() }
    }

    private func takeRest() -> Range<UInt64> {
        progress.withLock { progress in
            defer { progress.arrived = range.upperBound }
            return progress.arrived..<range.upperBound
        }
    }

    /// Returns how many bytes are still reserved, and forgets them.
    func takeReserved() -> UInt64 {
        progress.withLock { progress in
            defer { progress.measured = range.upperBound }
            return range.upperBound - progress.measured
        }
    }
}
