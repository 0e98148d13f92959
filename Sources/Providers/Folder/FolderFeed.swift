import Engine
import Glibc
import ProviderSupport
import Synchronization
import SystemCalls

/// Reports changes in directories of a folder.
final class FolderFeed: Sendable {
    /// How often a directory is looked for while others move it, or end a watch above it.
    private static let attemptsMax = 3
    /// The pause after each batch of events, in which the kernel merges repeated ones, and its length
    /// as a multiple of the time that they took, if that is more.
    private static let pause: Duration = .milliseconds(20)
    private static let pauseFactor = 10
    /// The most reads of events between two pauses, if they come faster than they are handled.
    private static let batchesMax = 16

    private let root: FolderRoot
    private let state = Mutex(FolderFeedState())
    /// Notified when something has changed.
    private let changes = Signal()

    init(root: FolderRoot) {
        self.root = root
    }

    deinit {
        state.withLock { $0.inotify?.close() }
    }

    /// Begins to watch, unless it did.
    ///
    /// - Throws: `.unsupported` if the system refuses it.
    func open() throws(ProviderError) {
        let isOpen = state.withLock { state in
            if state.inotify == nil, !state.isRefused {
                state.inotify = try? begin()
                state.isRefused = state.inotify == nil
            }
            return state.inotify != nil
        }
        if !isOpen {
            throw ProviderError(
                .unsupported, "inotify is not available",
                remedy: "increase /proc/sys/fs/inotify/max_user_instances")
        }
    }

    private func begin() throws(SystemError) -> Inotify {
        let inotify = try Inotify()
        let thread = try WorkerThread(name: "folder-watch") { [weak self] in
            while inotify.awaitEvents() {
                let begin = ContinuousClock.now
                do {
                    try Self.take(from: inotify) { self?.note($0) }
                } catch {
                    self?.close()
                    return
                }
                let now = ContinuousClock.now
                let rest = max(Self.pause, (now - begin) * Self.pauseFactor)
                if inotify.awaitClose(until: now + rest) { return }
            }
        }
        thread.detach()
        return inotify
    }

    private static func take(
        from inotify: Inotify, _ body: ([Inotify.Event]) -> Void
    ) throws(SystemError) {
        for _ in 0..<batchesMax {
            let events = try inotify.takeEvents()
            if events.isEmpty { return }
            body(events)
        }
    }

    // MARK: Events

    func note(_ events: [Inotify.Event]) {
        state.withLock { state in
            for event in events {
                if event.flags & UInt32(IN_Q_OVERFLOW) != 0 {
                    state.endAll()
                } else {
                    state.note(event)
                }
            }
        }
        changes.notify()
    }

    /// Ends after a failure of the system.
    private func close() {
        state.withLock { state in
            state.endAll()
            state.inotify = nil
            state.isRefused = true
        }
        changes.notify()
    }

    /// Waits for changes.
    func report(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        while true {
            let notifications = changes.notifications
            try open()
            if let report = state.withLock({ $0.journal.report(since: anchor) }) { return report }
            if Task.isCancelled { throw ProviderError(.cancelled, "cancelled") }
            await changes.wait(after: notifications)
        }
    }

    // MARK: Directories

    /// The number of watched directories.
    var watchCount: Int { state.withLock { $0.watches.count } }

    var isOpen: Bool { state.withLock { $0.inotify != nil } }

    func isFollowed(_ key: ObjectKey) -> Bool { state.withLock { $0.watches.isFollowed(key) } }

    func unfollow(_ key: ObjectKey) {
        state.withLock { $0.unfollow(key) }
        changes.notify()
    }

    /// Watches a directory and those above it. Blocks on the disk.
    ///
    /// Changes before a watch are not reported, so the path is walked again after it: it has to
    /// lead to the same directories. Those that were watched before are not looked at: if one of them is
    /// elsewhere by now, its end is about to be reported, and with it that of all below.
    ///
    /// - Returns: false if the system or the file system cannot watch one of them.
    func follow(_ key: ObjectKey) throws(ProviderError) -> Bool {
        var isFollowed = false
        defer { if !isFollowed { state.withLock { $0.release(key) } } }
        for _ in 0..<Self.attemptsMax where !isFollowed {
            let watched = state.withLock { $0.watches.watchedDepth(of: key) }
            guard let watches = try watchPath(to: key, from: watched), let last = watches.last,
                try watchPath(to: key, from: watched) == watches
            else { continue }
            isFollowed = state.withLock { $0.follow(last) }
        }
        return isFollowed
    }

    /// - Parameter depth: The number of directories above it that are watched already.
    /// - Returns: The watches from the root to a directory; nil if one of them cannot be watched.
    private func watchPath(
        to key: ObjectKey, from depth: Int
    ) throws(ProviderError) -> [Int32]? {
        var directory = try root.open()
        var watches: [Int32] = []
        for level in 0...key.names.count {
            if level > 0 {
                let name = key.names[level - 1]
                if FolderName.isReserved(name) {
                    throw ProviderError(.missing, "the name is reserved")
                }
                directory = try directory.directory(name)
            }
            let place = ObjectKey(Array(key.names.prefix(level)))
            let watch =
                level < depth
                ? state.withLock { $0.watches.watch(of: place) }
                : try watch(directory, at: place, below: watches.last, key)
            guard let watch else { return nil }
            watches.append(watch)
        }
        return watches
    }

    /// - Parameter target: The directory that is to be followed.
    /// - Returns: nil if it cannot be watched, or not now.
    private func watch(
        _ directory: FolderDirectory, at key: ObjectKey, below parent: Int32?, _ target: ObjectKey
    ) throws(ProviderError) -> Int32? {
        guard FolderFileSystem.reportsChanges(directory) else { return nil }
        let flags = key == target ? FolderWatches.followedFlags : FolderWatches.placeFlags
        for _ in 0..<Self.attemptsMax {
            let added = state.withLock { $0.watch(directory, at: key, below: parent, for: flags) }
            guard case .heldBy(let other) = added else { return added.watch }
            let now = try? root.directory(other).status()
            if let now, try directory.status().isSameObject(as: now) { return nil }
            state.withLock { $0.end(at: other) }
        }
        return nil
    }
}
