import Engine
import ProviderSupport
import Synchronization
import SystemCalls

/// Reports changes in directories of a bucket, according to the store's notifications.
///
/// A store that is not configured to send any sends none, and nothing else shows that. So no directory
/// is followed until the first notification has arrived.
final class S3Feed: Sendable {
    private struct State {
        var hasArrived = false
        /// By the start of the keys below each.
        var followed: [[UInt8]: ObjectKey] = [:]
        var journal = ChangeJournal(nonce: Hexadecimal.nonce())
    }

    private let bucket: String
    private let keys: S3KeyMap
    private let state = Mutex(State())
    private let changes = Signal()

    init(bucket: String, keys: S3KeyMap) {
        self.bucket = bucket
        self.keys = keys
    }

    /// Takes the body of a notification.
    ///
    /// - Returns: The number of changes below the mount's prefix.
    func take(_ body: [UInt8]) throws(NotificationError) -> Int {
        let found = try S3Notification(parsing: body, bucket: bucket).changes.filter {
            $0.key.bytes.starts(with: keys.prefix.bytes)
        }
        state.withLock { state in
            if !state.hasArrived {
                state.hasArrived = true
                // From now on, directories in use can be followed: their listings begin it.
                state.journal.noteMissed()
            }
            for change in found { Self.note(change, below: keys.prefix.bytes.count, &state) }
        }
        changes.notify()
        return found.count
    }

    /// Records a change in the followed directories that it shows in: the lowest one above the key, as
    /// those between the two are new; with a removal all above, as each may have gone with its last
    /// object.
    private static func note(
        _ change: S3Notification.Change, below start: Int, _ state: inout State
    ) {
        let bytes = change.key.bytes
        var end = bytes.count
        while true {
            if let directory = state.followed[Array(bytes[..<end])] {
                state.journal.note(directory)
                // A marker's own directory shows nothing of it.
                if !change.isRemoval, end < bytes.count { return }
            }
            guard end > start else { return }
            end = bytes[start..<end - 1].lastIndex(of: S3Key.slash).map { $0 + 1 } ?? start
        }
    }

    /// Waits for changes.
    func report(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        while true {
            let notifications = changes.notifications
            if let report = state.withLock({ $0.journal.report(since: anchor) }) { return report }
            if Task.isCancelled { throw ProviderError(.cancelled, "cancelled") }
            await changes.wait(after: notifications)
        }
    }

    /// - Returns: false before the first notification, and for a directory that is only the beginning
    ///   of a name.
    func follow(_ key: ObjectKey) -> Bool {
        let place = keys.place(of: key)
        guard !place.isBeginning else { return false }
        return state.withLock { state in
            guard state.hasArrived else { return false }
            state.followed[place.directory.bytes] = key
            return true
        }
    }

    func unfollow(_ key: ObjectKey) {
        let wasFollowed = state.withLock { state in
            let former = state.followed.removeValue(forKey: keys.place(of: key).directory.bytes)
            if former != nil { state.journal.note(key) }
            return former != nil
        }
        if wasFollowed { changes.notify() }
    }
}
