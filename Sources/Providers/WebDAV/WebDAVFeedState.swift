import Engine
import SystemCalls

/// The directories that a ``WebDAVFeed`` follows, and their tags: etags with the identity of the
/// directory.
struct WebDAVFeedState {
    private struct Followed {
        /// Its tag in its last listing; nil before one.
        var listed: String?
        /// Its tag when it was reported last.
        var reported: String?
        /// Whether it was reported after its last listing.
        var isReported = false
        /// Whether a listing is under way that will be merged.
        var isBeingListed = true
    }

    /// The number of directories in other storage that are remembered; beyond it all are forgotten.
    static let foreignMax = 1_024
    /// The number of checks that have to miss a changed tag.
    private static let missesMax = 2

    /// Whether changes were requested.
    var hasBegun = false
    /// Whether tags have turned out not to cover subtrees.
    private(set) var isRefuted = false
    /// When the root's tag is requested next.
    var nextCheck: Duration = .zero
    var journal = ChangeJournal(nonce: Hexadecimal.nonce())

    private var followed: [ObjectKey: Followed] = [:]
    /// The tag of a directory when all followed ones below it were compared last.
    private var compared: [ObjectKey: String] = [:]
    /// Directories in other storage: changes there need not show in the tags above.
    private var foreign: Set<ObjectKey> = []
    /// Directories of which a listing has shown a new tag that was not reported, and the number of
    /// checks that began later and did not come to them.
    private var unexplained: [ObjectKey: Int] = [:]

    var isFollowingAny: Bool { !followed.isEmpty }

    // MARK: Following

    /// Begins to follow a directory, since its listing begins.
    ///
    /// - Returns: Whether its changes are reported.
    mutating func follow(_ directory: ObjectKey) -> Bool {
        guard hasBegun, !isRefuted, !isForeign(directory) else { return false }
        followed[directory, default: Followed()].isBeingListed = true
        return true
    }

    /// Ends following a directory, and reports it.
    ///
    /// - Returns: Whether it was followed.
    mutating func unfollow(_ directory: ObjectKey) -> Bool {
        guard followed.removeValue(forKey: directory) != nil else { return false }
        unexplained[directory] = nil
        journal.note(directory)
        return true
    }

    /// Ends following a directory and all below it, and reports them.
    mutating func unfollow(allFrom directory: ObjectKey) {
        for key in followed.keys where key.names.starts(with: directory.names) {
            _ = unfollow(key)
        }
    }

    private func isForeign(_ directory: ObjectKey) -> Bool {
        guard !foreign.isEmpty else { return false }
        return (0...directory.names.count).contains {
            foreign.contains(ObjectKey(Array(directory.names.prefix($0))))
        }
    }

    // MARK: Tags

    /// Records the tag of a directory from the answer to its listing.
    ///
    /// - Returns: Whether it is not followed any more.
    mutating func noteListing(of directory: ObjectKey, _ tag: String?, isForeign: Bool) -> Bool {
        // The engine looks for single names in listings, too, and merges nothing of those.
        guard var entry = followed[directory], entry.isBeingListed else { return false }
        guard !isForeign, let tag else {
            if foreign.count == Self.foreignMax { foreign = [] }
            foreign.insert(directory)
            unfollow(allFrom: directory)
            return true
        }
        let isNew = entry.listed != nil && entry.listed != tag
        if isNew, !entry.isReported, entry.reported != tag {
            unexplained[directory] = unexplained[directory] ?? 0
        }
        entry = Followed(listed: tag, reported: entry.reported, isBeingListed: false)
        followed[directory] = entry
        return false
    }

    /// Reports a directory if it is followed and has another tag than in its last listing.
    ///
    /// Directories that are followed later are also listed later, so after this tag was seen.
    ///
    /// - Returns: The names in it that lead to followed directories.
    mutating func compare(_ directory: ObjectKey, _ tag: String) -> Set<FileName> {
        unexplained[directory] = nil
        if var entry = followed[directory], entry.listed != tag {
            journal.note(directory)
            entry.reported = tag
            entry.isReported = true
            followed[directory] = entry
        }
        let depth = directory.names.count
        return Set(
            followed.keys.lazy.filter {
                $0.names.count > depth && $0.names.starts(with: directory.names)
            }.map { $0.names[depth] })
    }

    /// Whether all followed directories below one were compared when it had this tag.
    func isCompared(_ directory: ObjectKey, _ tag: String) -> Bool { compared[directory] == tag }

    mutating func noteCompared(_ directory: ObjectKey, _ tag: String) { compared[directory] = tag }

    // MARK: Checks

    /// Records that a check begins.
    mutating func beginCheck() {
        for key in unexplained.keys { unexplained[key, default: 0] += 1 }
    }

    /// Records the end of a check, and forgets tags that are not needed any more.
    ///
    /// - Returns: Whether changed tags do not show in those above, so that nothing can be followed.
    mutating func endCheck() -> Bool {
        guard unexplained.values.allSatisfy({ $0 < Self.missesMax }) else {
            isRefuted = true
            followed = [:]
            compared = [:]
            unexplained = [:]
            journal.noteMissed()
            return true
        }
        var needed: Set<ObjectKey> = [.root]
        for key in followed.keys {
            var directory = key
            while needed.insert(directory).inserted, let parent = directory.parent {
                directory = parent
            }
        }
        compared = compared.filter { needed.contains($0.key) }
        return false
    }
}
