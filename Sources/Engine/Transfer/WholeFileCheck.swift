import Logging
import Synchronization

/// Checks files that were fetched in several pieces, of which each alone has no checksum, against the
/// checksum that the store keeps of the whole. Requests do not wait for it.
///
/// If they differ, the bytes are fetched once more, without storing them. If these equal the local
/// bytes, the transfer was sound, and the store's checksum is not one of these bytes. Otherwise the
/// local bytes count as missing.
struct WholeFileCheck: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let content: ContentStore
    let gate: RemoteGate
    let kernelCache: KernelCacheRelay
    private let queue = Locked(WholeFileQueue())
    private let signal = Signal()

    private static var pieceBytes: UInt64 { 256 << 10 }
    private static var fetchBytes: UInt64 { 4 << 20 }
    /// The pause after bytes that were wrong in different ways, so that they are not fetched without
    /// end.
    private static var pause: Duration { .seconds(60) }

    init(
        store: Store, clock: any Clock, logger: Logger, random: @escaping @Sendable () -> UInt64,
        content: ContentStore, gate: RemoteGate, kernelCache: KernelCacheRelay
    ) {
        self.store = store
        self.clock = clock
        self.logger = logger
        self.random = random
        self.content = content
        self.gate = gate
        self.kernelCache = kernelCache
    }

    /// Schedules the check of a file that is whole now.
    func request(_ inode: InodeNumber) {
        guard gate.traits.keepsChecksums else { return }
        if queue.withLock({ $0.add(inode) }) { signal.notify() }
    }

    /// Whether the bytes of a file may turn out to be damaged.
    func isAwaited(_ inode: InodeNumber) -> Bool {
        queue.withLock { $0.contains(inode) }
    }

    /// Checks files, one after the other, until the calling task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let notifications = signal.notifications
            switch queue.withLock({ $0.next(at: clock.uptime) }) {
            case .idle: await signal.wait(after: notifications)
            case .wait(let due): await signal.wait(after: notifications, until: due, on: clock)
            case .check(let inode):
                do {
                    if try await !check(inode) { postpone() }
                } catch {
                    logger.debug(
                        "file not checked", metadata: ["inode": "\(inode)", "reason": "\(error)"])
                    // After a failure of this machine too: the bytes here may be known to be damaged.
                    if (error as? ProviderError)?.isPassing != false { postpone() }
                }
            }
        }
    }

    private func postpone() {
        queue.withLock { $0.postpone(at: clock.uptime, random) }
    }

    /// - Returns: Whether the check is over; false if it has to wait until a change has ended.
    private func check(_ inode: InodeNumber) async throws -> Bool {
        guard let version = try version(of: inode) else { return true }
        guard version.isAtRest else { return false }
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        guard file.state.withLock(\.isWhole) else { return true }
        let start = try await gate.checksum(of: version.key, etag: version.etag)
        guard let start, queue.withLock({ $0.isWorthwhile(start, of: inode, version.etag) })
        else { return true }
        var sum = start
        guard try await update(&sum, from: file) else { return false }
        let here = sum
        guard queue.withLock({ $0.isSuspicious(here) }) else { return true }
        return try await compare(here, with: start, file, version)
    }

    private struct Version {
        let key: ObjectKey
        let etag: ETag
        let size: UInt64
        /// Whether no change of it is under way.
        let isAtRest: Bool
    }

    /// Returns the agreed version; nil if there is none, or the file was edited since.
    private func version(of inode: InodeNumber) throws -> Version? {
        try store.read { database in
            guard let record = try database.inode(inode), record.links > 0,
                let synced = try database.synced(inode), let etag = synced.etag,
                synced.generation == record.generation,
                let key = try database.remoteKey(of: inode)
            else { return nil }
            return Version(
                key: key, etag: etag, size: synced.size,
                isAtRest: try database.isEvictable(record))
        }
    }

    /// Fetches all bytes once more, and drops the local ones unless they are the same.
    ///
    /// - Returns: As ``check(_:)``.
    private func compare(
        _ here: any ContentChecksum, with start: any ContentChecksum, _ file: OpenFile,
        _ version: Version
    ) async throws -> Bool {
        var metadata: Logger.Metadata = ["key": "\(version.key)", "inode": "\(file.inode)"]
        logger.info(
            "bytes differ from the checksum of the whole file, fetched once more to compare",
            metadata: metadata)
        let there = try await fetch(start, version)
        if there.value == here.value {
            queue.withLock { $0.accept(here, of: file.inode, version.etag) }
            metadata["declared"] = "\(here.isDeclared)"
            logger.warning(
                "the store's checksum is not that of its bytes, not checked again",
                metadata: metadata)
            return true
        }
        let isSound = there.value == there.expected
        metadata["refetched"] = isSound ? "sound" : "differs too"
        logger.error("bytes are damaged, to be fetched again", metadata: metadata)
        guard try content.space.discard(file) else { return false }
        if !isSound {
            let reason = ProviderError(
                .corrupt, attempt: "read \"\(version.key)\"",
                reason: "its bytes do not have the checksum that the store keeps")
            file.state.withLock { $0.rest = (clock.uptime + Self.pause, reason) }
        }
        kernelCache.announce([.inode(file.inode)])
        return true
    }

    /// Adds all bytes of a version to a checksum, as the store sends them. Not in one request, which
    /// a store may refuse for its own checksum.
    private func fetch(
        _ start: any ContentChecksum, _ version: Version
    ) async throws -> any ContentChecksum {
        var sum = start
        var offset: UInt64 = 0
        let step = min(Self.fetchBytes, max(1, version.size / 2))
        while offset < version.size {
            let piece = offset..<min(version.size, offset + step)
            let sink = ChecksumSink(sum, at: offset)
            try await gate.read(version.key, range: piece, etag: version.etag, into: sink)
            sum = sink.sum
            offset = piece.upperBound
        }
        return sum
    }

    private func isWholeAndUnchanged(_ file: OpenFile) -> Bool {
        file.state.withLock { $0.isWhole && $0.isUnchanged }
    }

    /// Adds all local bytes to a checksum; no lock is held meanwhile, and others have their turn.
    ///
    /// - Returns: Whether they were whole and unchanged to the end.
    private func update(
        _ sum: inout any ContentChecksum, from file: OpenFile
    ) async throws -> Bool {
        let (bytes, size) = file.state.withLock { ($0.file, $0.size) }
        var offset: UInt64 = 0
        while offset < size {
            guard !Task.isCancelled, isWholeAndUnchanged(file) else { return false }
            let count = Int(min(Self.pieceBytes, size - offset))
            let read = try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { piece in
                let read = try bytes.read(into: piece, at: offset)
                sum.update(UnsafeRawBufferPointer(rebasing: piece[..<read]))
                return read
            }
            guard read == count else { return false }
            offset += UInt64(count)
            await Task.yield()
        }
        return isWholeAndUnchanged(file)
    }
}

/// Adds arriving bytes to a checksum, and keeps none.
private struct ChecksumSink: ByteSink {
    private let start: any ContentChecksum
    private let offset: UInt64
    private let current: Locked<any ContentChecksum>

    init(_ start: any ContentChecksum, at offset: UInt64) {
        self.start = start
        self.offset = offset
        current = Locked(start)
    }

    var sum: any ContentChecksum { current.withLock { $0 } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
        current.withLock { sum in
            // The store may have to be asked twice.
            if offset == self.offset { sum = start }
            sum.update(bytes)
        }
    }
}
