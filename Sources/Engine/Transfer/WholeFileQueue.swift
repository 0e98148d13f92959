/// Decides which file is checked next, and remembers what the checks have shown about the store.
struct WholeFileQueue {
    enum Next: Equatable {
        case check(InodeNumber)
        case wait(until: Duration)
        case idle
    }

    /// What etags that look like checksums are.
    private enum Lookalikes { case unknown, checksums, others }

    private struct Entry {
        let inode: InodeNumber
        var due = Duration.zero
        var attempts = 0
    }

    /// Further files are not checked.
    static var entriesMax: Int { 1_024 }
    private static var acceptedMax: Int { 1_024 }

    private var entries: [Entry] = []
    /// The check that is running.
    private var current: Entry?
    /// Versions whose checksum at the store is not that of its bytes.
    private var accepted: [InodeNumber: ETag] = [:]
    private var lookalikes = Lookalikes.unknown

    /// - Returns: Whether the file was not in the queue.
    mutating func add(_ inode: InodeNumber) -> Bool {
        guard entries.count < Self.entriesMax, !entries.contains(where: { $0.inode == inode })
        else { return false }
        entries.append(Entry(inode: inode))
        return true
    }

    /// Whether a file waits for its check, or is being checked.
    func contains(_ inode: InodeNumber) -> Bool {
        current?.inode == inode || entries.contains { $0.inode == inode }
    }

    /// Removes the first file that is due. The check before it has ended.
    mutating func next(at now: Duration) -> Next {
        current = nil
        if let index = entries.firstIndex(where: { $0.due <= now }) {
            let entry = entries.remove(at: index)
            current = entry
            return .check(entry.inode)
        }
        return entries.map(\.due).min().map { .wait(until: $0) } ?? .idle
    }

    /// Puts the last file that was removed back, to be checked later; less and less often.
    mutating func postpone(at now: Duration, _ random: () -> UInt64) {
        guard var entry = current, !entries.contains(where: { $0.inode == entry.inode }) else {
            return
        }
        var backoff = Backoff(
            first: .seconds(30), longest: .seconds(3_600), attempts: entry.attempts)
        entry.due = now + backoff.next(random)
        entry.attempts += 1
        entries.append(entry)
    }

    /// Whether a checksum can show anything.
    func isWorthwhile(
        _ sum: any ContentChecksum, of inode: InodeNumber, _ etag: ETag
    ) -> Bool {
        accepted[inode] != etag && (sum.isDeclared || lookalikes != .others)
    }

    /// Notes the checksum of local bytes.
    ///
    /// - Returns: Whether the bytes may be wrong. Something that only looks like a checksum counts
    ///   once another one of this store was one.
    mutating func isSuspicious(_ sum: any ContentChecksum) -> Bool {
        if sum.value == sum.expected {
            if !sum.isDeclared, lookalikes == .unknown { lookalikes = .checksums }
            return false
        }
        return sum.isDeclared || lookalikes == .checksums
    }

    /// Notes that bytes fetched twice are alike, so that the store's checksum is not theirs.
    mutating func accept(_ sum: any ContentChecksum, of inode: InodeNumber, _ etag: ETag) {
        if !sum.isDeclared { lookalikes = .others }
        if accepted.count >= Self.acceptedMax { accepted = [:] }
        accepted[inode] = etag
    }
}
