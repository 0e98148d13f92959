import Engine
import SystemCalls

/// The directories that a ``WebDAVFeed`` follows, and their etags.
struct WebDAVFeedState {
    private struct Followed {
        /// Its etag in its last listing; nil before one.
        var listed: String?
        /// Its etag when it was reported last.
        var reported: String?
        /// Whether it was reported after its last listing.
        var isReported = false
    }

    /// Number of directories of other storages that are remembered.
    static let foreignMax = 1_024

    /// Whether anybody has asked for changes.
    var hasBegun = false
    /// Whether a changed etag of a directory was seen that those above it do not show.
    var isRefuted = false
    /// When the root's etag is requested next.
    var nextCheck: Duration = .zero
    var journal = ChangeJournal(nonce: Hexadecimal.nonce())

    private var followed: [ObjectKey: Followed] = [:]
    /// The etag of a directory when all followed ones below it were compared last.
    private var compared: [ObjectKey: String] = [:]
    /// The topmost directories that are not in the user's own storage.
    private var foreign: Set<ObjectKey> = []
    /// Whether a listing has shown an etag that nothing was reported of.
    private var isUnexplained = false

    var isFollowingAny: Bool { !followed.isEmpty }

    // MARK: Following

    /// - Returns: Whether its changes are reported.
    mutating func follow(_ directory: ObjectKey) -> Bool {
        guard hasBegun, !isRefuted, !isForeign(directory) else { return false }
        followed[directory] = followed[directory] ?? Followed()
        return true
    }

    /// - Returns: Whether it was followed.
    mutating func unfollow(_ directory: ObjectKey) -> Bool {
        guard followed.removeValue(forKey: directory) != nil else { return false }
        journal.note(directory)
        return true
    }

    private mutating func unfollow(allFrom directory: ObjectKey) {
        for key in followed.keys where key.isWithin(directory) { _ = unfollow(key) }
    }

    private func isForeign(_ directory: ObjectKey) -> Bool {
        guard !foreign.isEmpty else { return false }
        return (0...directory.names.count).contains {
            foreign.contains(ObjectKey(Array(directory.names.prefix($0))))
        }
    }

    // MARK: Etags

    /// Records the etag of a directory in the answer that its listing was made of.
    ///
    /// - Returns: Whether it is not followed any more.
    mutating func noteListing(of directory: ObjectKey, _ etag: String?, isForeign: Bool) -> Bool {
        guard var entry = followed[directory] else { return false }
        guard !isForeign, let etag else {
            if foreign.count == Self.foreignMax { foreign = [] }
            foreign.insert(directory)
            unfollow(allFrom: directory)
            return true
        }
        let isNew = entry.listed != nil && entry.listed != etag
        if isNew, !entry.isReported, entry.reported != etag { isUnexplained = true }
        entry.listed = etag
        entry.isReported = false
        followed[directory] = entry
        return false
    }

    /// Reports a directory if it is followed and has another etag than in its last listing.
    mutating func compare(_ directory: ObjectKey, _ etag: String) {
        guard var entry = followed[directory], entry.listed != etag else { return }
        journal.note(directory)
        entry.reported = etag
        entry.isReported = true
        followed[directory] = entry
    }

    /// Reports all followed directories from one on that does not exist any more, and ends following them.
    mutating func noteMissing(_ directory: ObjectKey) { unfollow(allFrom: directory) }

    /// Whether all followed directories below one were compared when it had this etag.
    func isCompared(_ directory: ObjectKey, _ etag: String) -> Bool { compared[directory] == etag }

    mutating func noteCompared(_ directory: ObjectKey, _ etag: String) {
        compared[directory] = etag
    }

    // MARK: Checks

    /// Returns the names of the directories that lead to followed ones, by the directory that they are in.
    func paths() -> [ObjectKey: Set<FileName>] {
        var paths: [ObjectKey: Set<FileName>] = [:]
        for key in followed.keys {
            var directory = key
            while let parent = directory.parent, let name = directory.names.last {
                // Those above are in it already.
                guard paths[parent, default: []].insert(name).inserted else { break }
                directory = parent
            }
        }
        return paths
    }

    /// Records that the root's etag was the one at which everything was compared last.
    ///
    /// - Returns: Whether changed etags do not show in it, so that nothing can be followed.
    mutating func noteUnchanged() -> Bool {
        guard isUnexplained else { return false }
        isRefuted = true
        followed = [:]
        compared = [:]
        journal.noteMissed()
        return true
    }

    /// Records that everything on the way to followed directories was compared.
    mutating func noteChecked(_ paths: [ObjectKey: Set<FileName>]) {
        isUnexplained = false
        compared = compared.filter { $0.key == .root || paths[$0.key] != nil }
    }
}

extension ObjectKey {
    fileprivate func isWithin(_ directory: ObjectKey) -> Bool {
        names.starts(with: directory.names)
    }
}
