import Engine
import SystemCalls

/// The watches of a ``FolderFeed``, and the changes that it has not reported. No call waits for a disk.
struct FolderFeedState: Sendable {
    enum Added {
        case watched(Int32)
        /// The same directory was at another key.
        case heldBy(ObjectKey)
        case refused

        var watch: Int32? {
            if case .watched(let watch) = self { watch } else { nil }
        }
    }

    /// nil until it is opened, and if the system refuses it.
    var inotify: Inotify?
    var isRefused = false
    private(set) var watches = FolderWatches()
    var journal = ChangeJournal(nonce: Hexadecimal.nonce())

    /// Watches a directory.
    mutating func watch(
        _ directory: FolderDirectory, at key: ObjectKey, below parent: Int32?, for flags: UInt32
    ) -> Added {
        guard let inotify, let watch = try? directory.watch(by: inotify, for: flags) else {
            return .refused
        }
        if let other = watches.key(of: watch), other != key { return .heldBy(other) }
        if watches.watch(of: key).map({ $0 != watch }) ?? false { end(at: key) }
        if watches.add(watch, at: key, below: parent) { return .watched(watch) }
        inotify.unwatch(watch)
        return .refused
    }

    /// - Returns: false if the watch has ended.
    mutating func follow(_ watch: Int32) -> Bool { watches.setFollowed(watch) }

    mutating func unfollow(_ key: ObjectKey) {
        // The caller may have begun to follow it again.
        if watches.isFollowed(key) { journal.note(key) }
        unwatch(watches.release(key, isUnfollowed: true))
    }

    /// Ends what only a key needs that is not followed.
    mutating func release(_ key: ObjectKey) {
        unwatch(watches.release(key, isUnfollowed: false))
    }

    mutating func note(_ event: Inotify.Event) {
        let (ended, changed) = watches.note(event)
        unwatch(ended)
        for key in changed { journal.note(key) }
    }

    /// Ends a directory and those below it: something else is there now.
    mutating func end(at key: ObjectKey) {
        guard let watch = watches.watch(of: key) else { return }
        let ended = watches.end(watch)
        unwatch(ended.watches)
        for key in ended.followed { journal.note(key) }
    }

    /// Ends all, after events were lost.
    mutating func endAll() {
        end(at: .root)
        journal.noteMissed()
    }

    private func unwatch(_ watches: [Int32]) {
        for watch in watches { inotify?.unwatch(watch) }
    }
}
