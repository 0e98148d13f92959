import CLinux
import Glibc
import Synchronization
import SystemCalls

/// The files of a ``PosixDisk`` in use, in any number, of which a bounded number keep their descriptor.
///
/// If there are too many, the descriptor of an idle file is closed, and reopened by path at the next
/// use. A clock hand selects it, skipping those used since its last round. Never closed are
/// descriptors in use, that is while a caller holds a reference to the ``Descriptor``, and those of
/// files without a name, which could not be reopened. A file with unsynchronised writes gets an
/// `fsync` first, as the kernel may forget a failed write once no descriptor of the file is open. No user
/// of another file waits for that, see ``DescriptorCloser``; a use of the file itself meanwhile takes the
/// descriptor back.
///
/// No lock is held during a system call that may wait for the disk.
final class OpenInodes: Sendable {
    fileprivate struct State {
        var byPath: [String: OpenInode] = [:]
        /// Those that have a descriptor and a name.
        var closable: [OpenInode] = []
        var hand = 0
    }

    private let root: Descriptor
    private let capacity: Int
    private let state = Mutex(State())
    let closer: DescriptorCloser
    /// Called with the path of an idle file before its `fsync`.
    private let willSynchronize: @Sendable (String) -> Void

    init(
        root: Descriptor, capacity: Int,
        willSynchronize: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        precondition(capacity > 0, "a file needs a descriptor to be used")
        self.root = root
        self.capacity = capacity
        closer = DescriptorCloser(placesMax: max(1, capacity / 2))
        self.willSynchronize = willSynchronize
    }

    // MARK: Users

    /// Adds a user to the file at a path, if it has one already.
    func retain(_ path: String) -> OpenInode? {
        state.withLock { state in
            guard let inode = state.byPath[path] else { return nil }
            inode.state.withLock { $0.users += 1 }
            return inode
        }
    }

    /// Adds a user to a file that was just opened.
    func insert(_ descriptor: Descriptor, at location: Location) throws(SystemError) -> OpenInode {
        let new = try OpenInode(descriptor, at: location)
        let inode = state.withLock { state in
            // Two threads may have opened it side by side.
            if let known = state.byPath[location.path], known.isSameFile(as: new) {
                known.state.withLock { $0.users += 1 }
                return known
            }
            state.byPath[location.path] = new
            return new
        }
        _ = keep(descriptor, of: inode)
        return inode
    }

    /// Takes a user away; the last one closes the file.
    func release(_ inode: OpenInode) {
        // Closed after the lock is released: of a file without a name that takes its time.
        let closing = state.withLock { state -> [Descriptor] in
            let (isLast, path) = inode.state.withLock { inode in
                inode.users -= 1
                return (inode.users == 0, inode.location.path)
            }
            guard isLast else { return [] }
            if state.byPath[path] === inode { state.byPath[path] = nil }
            return state.takeDescriptors(of: inode)
        }
        withExtendedLifetime(closing) {}
    }

    // MARK: Names

    /// Runs `body` with the file at `path` open if it is in use, so that it keeps its bytes, and its users
    /// need no path meanwhile.
    func withOpen<Result>(
        _ path: String, _ body: (OpenInode?) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        guard let inode = retain(path) else { return try body(nil) }
        defer { release(inode) }
        let descriptor = try descriptor(of: inode)
        defer { withExtendedLifetime(descriptor) {} }
        return try body(inode)
    }

    /// The file at `path` was moved to `destination`, and a file there has lost its name.
    /// The caller holds the descriptors of both.
    func noteMove(of path: String, to destination: Location) {
        state.withLock { state in
            let inode = state.byPath.removeValue(forKey: path)
            state.byPath[destination.path] = inode
            inode?.state.withLock { inode in
                inode.location = destination
                inode.isNameDurable = false
            }
        }
    }

    /// A file that the caller holds the descriptor of has lost its name.
    func noteRemoval(of inode: OpenInode, at path: String) {
        state.withLock { state in
            if state.byPath[path] === inode { state.byPath[path] = nil }
        }
    }

    // MARK: Descriptors

    /// The descriptor of a file, which stays open for as long as the caller holds it.
    func descriptor(of inode: OpenInode) throws(SystemError) -> Descriptor {
        while true {
            let (open, leaving, path) = inode.state.withLock { inode in
                inode.isRecent = true
                return (inode.descriptor, inode.leaving, inode.location.path)
            }
            if let open { return open }
            if let leaving { return keep(leaving, of: inode) }
            do throws(SystemError) {
                let reopened = try Descriptor(opening: path, in: root, flags: O_RDWR)
                let status = try reopened.status()
                guard inode.isSameFile(as: status) else { throw SystemError(ESTALE) }
                inode.advise(reopened)
                return keep(reopened, of: inode)
            } catch {
                // It may have been moved meanwhile, by a caller that had it opened for that.
                let isUnchanged = inode.state.withLock { inode in
                    inode.descriptor == nil && inode.leaving == nil
                        && inode.location.path == path
                }
                if isUnchanged { throw error }
            }
        }
    }

    /// Keeps a descriptor for the next use, closing another one if there are too many.
    ///
    /// - Returns: The descriptor that the file has, which may have been opened by another thread.
    private func keep(_ descriptor: Descriptor, of inode: OpenInode) -> Descriptor {
        let (kept, areTooMany) = state.withLock { state in
            let (kept, isNew) = inode.state.withLock { inode in
                let isNew = inode.descriptor == nil
                let kept = inode.descriptor ?? descriptor
                inode.descriptor = kept
                inode.leaving = nil
                return (kept, isNew)
            }
            if isNew { state.append(inode) }
            return (kept, state.closable.count > capacity)
        }
        if areTooMany { closeIdle() }
        return kept
    }

    /// Closes idle descriptors if there are too many.
    ///
    /// - Parameter countMax: Their limit; by default one more than was opened, as there may have been no
    ///   place for earlier ones.
    private func closeIdle(atMost countMax: Int = 2) {
        for _ in 0..<countMax {
            let hasPlace = closer.takePlace()
            let closing = state.withLock { state in
                state.closable.count > capacity
                    ? state.takeIdle(orUnsynchronized: hasPlace) : nil
            }
            if let closing, closing.isUnsynchronized {
                closer.run { self.synchronizeLeaving(closing.inode) }
            } else if hasPlace {
                closer.givePlaceBack()
            }
            if closing == nil { return }
        }
    }

    private func synchronizeLeaving(_ inode: OpenInode) {
        let (leaving, path) = inode.state.withLock { ($0.leaving, $0.location.path) }
        // Otherwise a user has taken it back.
        if let leaving {
            willSynchronize(path)
            // The inode keeps a failure for the next `fsync` of its users.
            try? inode.synchronize(leaving, after: .max)
            inode.state.withLock { inode in
                if inode.leaving === leaving { inode.leaving = nil }
            }
        }
        closer.givePlaceBack()
        // If no file is opened any more, nothing else closes those that found no place.
        closeIdle(atMost: .max)
    }
}

extension OpenInodes.State {
    mutating func append(_ inode: OpenInode) {
        inode.state.withLock { $0.position = closable.count }
        closable.append(inode)
    }

    mutating func removeFromClosable(at position: Int) {
        closable[position].state.withLock { $0.position = nil }
        let last = closable.removeLast()
        guard position < closable.count else { return }
        closable[position] = last
        last.state.withLock { $0.position = position }
    }

    mutating func takeDescriptors(of inode: OpenInode) -> [Descriptor] {
        let (descriptors, position) = inode.state.withLock { state in
            defer { (state.descriptor, state.leaving) = (nil, nil) }
            return ([state.descriptor, state.leaving].compactMap(\.self), state.position)
        }
        if let position { removeFromClosable(at: position) }
        return descriptors
    }

    /// Takes the descriptor of an idle file; nil if all are in use.
    ///
    /// - Parameter mayLeave: Whether it may be one of a file with unsynchronised writes, which keeps it as
    ///   ``OpenInode/State/leaving``.
    mutating func takeIdle(
        orUnsynchronized mayLeave: Bool
    ) -> (inode: OpenInode, descriptor: Descriptor, isUnsynchronized: Bool)? {
        // The first round may do no more than forget recent uses.
        for _ in 0..<2 * closable.count where !closable.isEmpty {
            hand = hand < closable.count ? hand : 0
            let inode = closable[hand]
            switch inode.state.withLock({ $0.takeIfIdle(orUnsynchronized: mayLeave) }) {
            case .inUse: hand += 1
            case .unlinked: removeFromClosable(at: hand)
            case .idle(let descriptor, let isUnsynchronized):
                removeFromClosable(at: hand)
                return (inode, descriptor, isUnsynchronized)
            }
        }
        return nil
    }
}

extension OpenInode.State {
    enum Use {
        case inUse, unlinked
        case idle(Descriptor, isUnsynchronized: Bool)
    }

    mutating func takeIfIdle(orUnsynchronized mayLeave: Bool) -> Use {
        let wasRecent = isRecent
        isRecent = false
        guard !wasRecent, mayLeave || !isUnsynchronized, isKnownUniquelyReferenced(&descriptor),
            let idle = descriptor
        else {
            return .inUse
        }
        // A file that does not tell is left open too.
        guard let status = try? idle.status(), status.st_nlink > 0 else { return .unlinked }
        descriptor = nil
        if isUnsynchronized { leaving = idle }
        return .idle(idle, isUnsynchronized: isUnsynchronized)
    }
}
