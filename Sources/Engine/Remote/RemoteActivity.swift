import Synchronization

/// The remote places that our own operations are changing now.
///
/// Keeps operations from crossing each other, and listings from mistaking our own changes for those
/// of other clients.
final class RemoteActivity: Sendable {
    struct Claim: Hashable {
        var inode: InodeNumber
        var keys: [ObjectKey]
        /// Whether everything below the keys is claimed too, as for a directory being moved.
        var isSubtree: Bool
    }

    /// The places changed during one listing.
    struct Watch: Hashable {
        fileprivate let id: UInt64
    }

    fileprivate struct State {
        var claims: [Claim] = []
        var nextWatch: UInt64 = 0
        var watches: [UInt64: (directory: ObjectKey, touched: Set<ObjectKey>, isMoved: Bool)] = [:]
    }

    private let state = Mutex(State())
    /// Names that the remote takes for one are one place.
    private let names: NameMatching

    init(names: NameMatching) {
        self.names = names
    }

    /// - Returns: nil if the claim now holds; otherwise the inode whose claim conflicts with it.
    func begin(_ claim: Claim) -> InodeNumber? {
        let claim = claim.matched(names)
        return state.withLock { state in
            if let other = state.claims.first(where: { claim.crosses($0) }) { return other.inode }
            state.claims.append(claim)
            for id in state.watches.keys { state.note(claim, for: id) }
            return nil
        }
    }

    /// Whether an operation is changing the object at `key`, or a directory above it.
    func isClaimed(_ key: ObjectKey) -> Bool {
        let look = Claim(inode: .root, keys: [key], isSubtree: false).matched(names)
        return state.withLock { $0.claims.contains { look.crosses($0) } }
    }

    /// Releases a claim, once the outcome is in the database.
    func end(_ claim: Claim) {
        let claim = claim.matched(names)
        state.withLock { state in
            if let index = state.claims.firstIndex(of: claim) { state.claims.remove(at: index) }
        }
    }

    /// Starts recording the changes in a directory.
    func watch(_ directory: ObjectKey) -> Watch {
        let directory = names.key(of: directory)
        return state.withLock { state in
            state.nextWatch += 1
            state.watches[state.nextWatch] = (directory, [], false)
            for claim in state.claims { state.note(claim, for: state.nextWatch) }
            return Watch(id: state.nextWatch)
        }
    }

    func end(_ watch: Watch) {
        state.withLock { _ = $0.watches.removeValue(forKey: watch.id) }
    }

    /// Records that a name was asked for by itself: listings in progress, which may show an
    /// earlier state, prove nothing about it.
    func noteAnswer(at key: ObjectKey) {
        let key = names.key(of: key)
        state.withLock { state in
            for (id, watch) in state.watches where watch.directory == key.parent {
                state.watches[id]?.touched.insert(key)
            }
        }
    }

    /// Whether we have changed `key`, a name in the watched directory, or are about to.
    func isTouched(_ key: @autoclosure () -> ObjectKey, _ watch: Watch) -> Bool {
        state.withLock { state in
            guard let watch = state.watches[watch.id] else { return true }
            return !watch.touched.isEmpty && watch.touched.contains(names.key(of: key()))
        }
    }

    /// Whether we have changed any name in the watched directory, so that the listing does not prove
    /// its state.
    func isAnyTouched(_ watch: Watch) -> Bool {
        state.withLock { $0.watches[watch.id].map { !$0.touched.isEmpty } ?? true }
    }

    /// Whether the watched directory itself has moved or is about to.
    func isMoved(_ watch: Watch) -> Bool {
        state.withLock { $0.watches[watch.id]?.isMoved ?? true }
    }
}

extension RemoteActivity.Claim {
    fileprivate func matched(_ names: NameMatching) -> Self {
        guard names.isFolding else { return self }
        var claim = self
        claim.keys = keys.map { names.key(of: $0) }
        return claim
    }

    fileprivate func crosses(_ other: Self) -> Bool {
        keys.contains { key in
            other.keys.contains { otherKey in
                key == otherKey || (isSubtree && otherKey.isBelow(key))
                    || (other.isSubtree && key.isBelow(otherKey))
            }
        }
    }
}

extension RemoteActivity.State {
    fileprivate mutating func note(_ claim: RemoteActivity.Claim, for id: UInt64) {
        guard var watch = watches[id] else { return }
        for key in claim.keys {
            if key.parent == watch.directory { watch.touched.insert(key) }
            if claim.isSubtree, key == watch.directory || watch.directory.isBelow(key) {
                watch.isMoved = true
            }
        }
        watches[id] = watch
    }
}

extension ObjectKey {
    /// Whether it is below `ancestor`, at any depth.
    func isBelow(_ ancestor: ObjectKey) -> Bool {
        names.count > ancestor.names.count && names.starts(with: ancestor.names)
    }
}
