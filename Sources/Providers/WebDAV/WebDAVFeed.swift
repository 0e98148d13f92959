import Engine
import Logging
import Synchronization

/// Reports changes according to the etags of directories, for servers where each covers its subtree.
///
/// At intervals one request fetches the root's etag. Only if it is another one, the directories on the way to
/// followed ones are compared, each if the etag of the one above it has changed.
final class WebDAVFeed: Sendable {
    /// The shortest interval between two checks.
    private static let intervalMin: Duration = .milliseconds(1)

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

    /// Records the directory itself according to the answer that its listing was made of.
    func noteListing(of directory: ObjectKey, _ entry: WebDAVEntry) {
        let hasEnded = state.withLock {
            $0.noteListing(of: directory, entry.etag, isForeign: entry.isInOtherStorage)
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
                // Tells that nothing else has changed.
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
        .unsupported, "the etags of directories do not cover those below")

    // MARK: Checks

    private func check() async throws(ProviderError) {
        let isFollowingAny = state.withLock { $0.isFollowingAny }
        if isFollowingAny { try await compareAll() }
        let next = lookup.clock.uptime + interval
        state.withLock { $0.nextCheck = next }
    }

    private func compareAll() async throws(ProviderError) {
        guard
            let root = try await lookup.entry(at: .root, properties: Self.properties),
            let etag = root.etag
        else { throw ProviderError(.corrupt, "the server's answer has no etag of the collection") }
        if state.withLock({ $0.isCompared(.root, etag) }) {
            if state.withLock({ $0.noteUnchanged() }) {
                logger.warning(
                    "the etags of directories do not cover those below, so all in use are listed at intervals"
                )
            }
            return
        }
        let paths = state.withLock { $0.paths() }
        try await compare(.root, etag, paths)
        state.withLock { $0.noteChecked(paths) }
    }

    /// Compares a directory, and those below it on the way to followed ones.
    ///
    /// - Parameter paths: The names on that way, by directory.
    private func compare(
        _ directory: ObjectKey, _ etag: String, _ paths: [ObjectKey: Set<FileName>]
    ) async throws(ProviderError) {
        state.withLock { $0.compare(directory, etag) }
        if let names = paths[directory] {
            let etags = try await etags(of: names, in: directory)
            for name in names.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
                let child = directory.appending(name)
                guard let etag = etags[name] else {
                    state.withLock { $0.noteMissing(child) }
                    continue
                }
                if state.withLock({ $0.isCompared(child, etag) }) { continue }
                try await compare(child, etag, paths)
            }
        }
        state.withLock { $0.noteCompared(directory, etag) }
    }

    private static let properties = "<D:resourcetype/><D:getetag/>"

    /// Returns the etags of those that are directories.
    private func etags(
        of names: Set<FileName>, in directory: ObjectKey
    ) async throws(ProviderError) -> [FileName: String] {
        let address = lookup.client.address
        let multistatus: Multistatus
        do throws(ProviderError) {
            multistatus = try await lookup.client.propfind(
                address.url(directory, isCollection: true), depth: 1, properties: Self.properties)
        } catch {
            // It was moved or deleted since its etag was read.
            if error.kind == .missing { return [:] }
            throw error
        }
        var etags: [FileName: String] = [:]
        while let entry = try multistatus.next() {
            guard case .child(let name) = address.place(of: entry.href, from: directory),
                entry.isCollection, names.contains(name)
            else { continue }
            etags[name] = entry.etag
        }
        return etags
    }
}

extension WebDAVEntry {
    /// Whether it is shared by others, or in storage that is mounted on the server (`S` and `M` in
    /// ownCloud's `permissions`): changes there need not show in the etags above.
    fileprivate var isInOtherStorage: Bool {
        permissions?.contains { $0 == "S" || $0 == "M" } ?? false
    }
}
