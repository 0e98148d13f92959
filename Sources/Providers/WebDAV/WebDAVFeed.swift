import Engine
import Logging
import Synchronization

/// Reports changes according to the etags of directories, for servers where each covers its
/// subtree.
///
/// At intervals one request fetches the root's etag. Only if it is another one, the directories on
/// the way to followed ones are compared, each if the etag of the one above it has changed.
final class WebDAVFeed: Sendable {
    /// The shortest interval between two checks.
    private static let intervalMin: Duration = .milliseconds(1)
    /// A check that takes longer is followed by a pause of ``restFactor`` times as long.
    private static let quickMax: Duration = .milliseconds(1_500)
    private static let restFactor = 20

    private let lookup: WebDAVLookup
    private let interval: Duration
    private let logger: Logger
    private let state = Mutex(WebDAVFeedState())
    private let changes = Signal()

    init(lookup: WebDAVLookup, interval: Duration, logger: Logger) {
        self.lookup = lookup
        self.interval = max(interval, Self.intervalMin)
        self.logger = logger
    }

    func follow(_ directory: ObjectKey) -> Bool { state.withLock { $0.follow(directory) } }

    func unfollow(_ directory: ObjectKey) {
        if state.withLock({ $0.unfollow(directory) }) { changes.notify() }
    }

    /// Records the directory itself from the answer to its listing.
    func noteListing(of directory: ObjectKey, _ entry: WebDAVEntry) {
        let hasEnded = state.withLock {
            $0.noteListing(of: directory, entry.directoryTag, isForeign: entry.isInOtherStorage)
        }
        if hasEnded { changes.notify() }
    }

    /// Waits for changes, or the next check.
    ///
    /// - Throws: `.unsupported` if changed etags have turned out not to show in those above.
    func report(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        while true {
            let notifications = changes.notifications
            let (report, isRefuted, nextCheck) = state.withLock { state in
                state.hasBegun = true
                return (state.journal.report(since: anchor), state.isRefuted, state.nextCheck)
            }
            if isRefuted { throw Self.refuted }
            if let report { return report }
            if lookup.clock.uptime >= nextCheck {
                try await check()
                // An empty report says that nothing else has changed.
                if let anchor, !state.withLock({ $0.isRefuted }) {
                    return state.withLock { $0.journal.report(since: anchor) }
                        ?? ChangeReport(anchor: anchor)
                }
                continue
            }
            if Task.isCancelled { throw ProviderError(.cancelled, "cancelled") }
            await changes.wait(after: notifications, until: nextCheck, on: lookup.clock)
        }
    }

    private static let refuted = ProviderError(
        .unsupported, "the etags of directories do not cover subtrees")

    // MARK: Checks

    private func check() async throws(ProviderError) {
        let begin = lookup.clock.uptime
        if state.withLock({ $0.isFollowingAny }) { try await compareAll() }
        let now = lookup.clock.uptime
        let rest = now - begin > Self.quickMax ? (now - begin) * Self.restFactor : .zero
        state.withLock { $0.nextCheck = now + max(interval, rest) }
    }

    private func compareAll() async throws(ProviderError) {
        state.withLock { $0.beginCheck() }
        guard let root = try await lookup.entry(at: .root, properties: Self.properties) else {
            throw .notThere
        }
        guard let tag = root.directoryTag else {
            throw ProviderError(.corrupt, "the server's answer has no etag of the collection")
        }
        if !state.withLock({ $0.isCompared(.root, tag) }) { try await compare(.root, tag) }
        if state.withLock({ $0.endCheck() }) {
            logger.warning(
                "etags do not cover subtrees, so directories in use are listed at intervals"
            )
        }
    }

    /// Compares a directory, and those below it on the way to followed ones.
    private func compare(_ directory: ObjectKey, _ tag: String) async throws(ProviderError) {
        let names = state.withLock { $0.compare(directory, tag) }
        if !names.isEmpty {
            let tags = try await tags(of: names, in: directory)
            for name in names.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
                let child = directory.appending(name)
                guard let tag = tags[name] else {
                    state.withLock { $0.unfollow(allFrom: child) }
                    continue
                }
                if !state.withLock({ $0.isCompared(child, tag) }) { try await compare(child, tag) }
            }
        }
        state.withLock { $0.noteCompared(directory, tag) }
    }

    private static let properties = "<D:resourcetype/><D:getetag/>" + WebDAVLookup.identity

    /// Returns the tags of the directories among names.
    ///
    /// A directory that cannot be listed has none: it must not hold up reports of all others.
    private func tags(
        of names: Set<FileName>, in directory: ObjectKey
    ) async throws(ProviderError) -> [FileName: String] {
        let address = lookup.client.address
        var tags: [FileName: String] = [:]
        do throws(ProviderError) {
            let multistatus = try await lookup.client.propfind(
                address.url(directory, isCollection: true), depth: 1, properties: Self.properties)
            while let entry = try multistatus.next() {
                guard case .child(let name) = address.place(of: entry.href, from: directory),
                    entry.isCollection, names.contains(name)
                else { continue }
                tags[name] = entry.directoryTag
            }
        } catch {
            if error.kind == .cancelled || error.kind == .unauthorized { throw error }
            logger.debug(
                "directories cannot be compared",
                metadata: ["directory": "\(directory)", "reason": "\(error)"])
            return [:]
        }
        return tags
    }
}

extension WebDAVEntry {
    /// Distinguishes each state of a directory: several may have one etag, and a move keeps it.
    fileprivate var directoryTag: String? { etag.map { "\(identity ?? "") \($0)" } }

    /// Whether it is shared by others, or in storage that is mounted on the server (`S` and `M` in
    /// ownCloud's `permissions`).
    fileprivate var isInOtherStorage: Bool {
        permissions?.contains { $0 == "S" || $0 == "M" } ?? false
    }
}
