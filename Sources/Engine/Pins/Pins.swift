import GRDB
import Synchronization

/// The pinned inodes: what is at and below them stays on this machine.
///
/// They are rows of the database; what is below a pinned directory is found by its path, so that pinning, unpinning
/// and moving a directory take no longer for a larger one.
struct Pins: Sendable {
    let store: Store
    let files: OpenFileTable
    /// The space that all pinned files may take: that of the cache.
    let bytesMax: UInt64
    /// Notified when files may have become pinned, or may lack bytes.
    let signal = Signal()
    /// Notified when the status has changed.
    let changes: Signal
    private let state = Locked(PinState())

    init(store: Store, files: OpenFileTable, bytesMax: UInt64, changes: Signal) {
        self.store = store
        self.files = files
        self.bytesMax = bytesMax
        self.changes = changes
    }

    // MARK: Pinning

    /// Pins inodes, durably. The caller has made sure that they fit.
    func pin(_ inodes: [InodeNumber]) throws(Blocked) {
        try store.write { database in
            for inode in inodes {
                guard try database.existingInode(inode).links > 0 else {
                    throw Blocked.failure(.notFound, "pin the removed inode \(inode)")
                }
                try database.insertPin(inode)
            }
        }
        try noteChange()
    }

    /// Unpins an inode and all that is pinned below it, durably.
    ///
    /// - Returns: The number of inodes that were pinned themselves.
    /// - Throws: `.invalid` if it stays pinned with a directory above it.
    func unpin(_ inode: InodeNumber) throws(Blocked) -> Int {
        let count = try store.write { database in
            if let parent = try database.dirent(of: inode)?.parent {
                var lookup = try PinLookup(database)
                if let pin = try lookup.pin(of: parent) {
                    throw try isPinnedAbove(inode, by: pin, database)
                }
            }
            let unpinned = try database.pins().filter { try database.isInode($0, atOrBelow: inode) }
            for pin in unpinned { try database.removePin(pin) }
            return unpinned.count
        }
        if count > 0 { try noteChange() } else { setRefusal(nil) }
        return count
    }

    private func isPinnedAbove(
        _ inode: InodeNumber, by pin: InodeNumber, _ database: Database
    ) throws -> Blocked {
        let path = ObjectKey(try database.path(of: inode))
        return .failure(
            .invalid, "unpin \"\(path)\", which is pinned with \(try database.pinnedName(of: pin))",
            remedy: "unpin that")
    }

    private func noteChange() throws(Blocked) {
        try store.synchronize()
        state.withLock { $0.change() }
        signal.notify()
        changes.notify()
    }

    /// Records why an attribute was not set, for the status; nil if that is of no interest any more.
    func setRefusal(_ refusal: PinStatus.Refusal?) {
        let isChanged = state.withLock { state in
            defer { state.refusal = refusal }
            return state.refusal != refusal
        }
        if isChanged { changes.notify() }
    }

    // MARK: Sums

    /// Returns the sums of all that is or would be pinned, as far as it is known here.
    ///
    /// - Parameter others: Inodes to count as pinned.
    func sums(with others: [InodeNumber] = []) throws(Blocked) -> PinSums {
        try sums(of: PinWalk(try store.read { try $0.pinRoots(with: others) }), stepsMax: .max)
    }

    /// Returns sums of which all that would be pinned with another inode has at least as much: what is at and
    /// below this inode is counted first.
    ///
    /// - Parameter stepsMax: The number of directories and pages after which the rest is not counted.
    /// - Returns: nil if the inode is pinned already with a directory above it.
    func leastSums(with inode: InodeNumber, stepsMax: Int) throws(Blocked) -> PinSums? {
        var roots = try store.read { try $0.pinRoots(with: [inode]) }
        guard let index = roots.firstIndex(of: inode) else { return nil }
        roots.insert(roots.remove(at: index), at: 0)
        return try sums(of: PinWalk(roots), stepsMax: stepsMax)
    }

    /// Returns the sums of all that is at and below some inodes, as far as it is known here; each file
    /// counts once, if one of them is below another one.
    func sums(atAndBelow inodes: [InodeNumber]) throws(Blocked) -> PinSums {
        try sums(of: PinWalk(try store.read { try $0.roots(of: inodes) }), stepsMax: .max)
    }

    private func sums(of walk: PinWalk, stepsMax: Int) throws(Blocked) -> PinSums {
        var (walk, sums, steps) = (walk, PinSums(), 0)
        while steps < stepsMax, !Task.isCancelled, let step = try next(&walk) {
            if case .files(let files) = step { _ = add(files, to: &sums) }
            steps += 1
        }
        return sums
    }

    /// Returns the next step of a walk; each is a transaction of its own.
    func next(_ walk: inout PinWalk) throws(Blocked) -> PinWalk.Step? {
        try store.read { try walk.next($0) }
    }

    /// Adds files to the sums.
    ///
    /// - Returns: Those of which bytes are missing.
    func add(_ page: [PinnedFile], to sums: inout PinSums) -> [PinnedFile] {
        let missing = page.filter { lacksBytes($0) }
        sums.files += UInt64(page.count)
        for file in page { sums.bytes += file.bytes }
        sums.filesMissing += UInt64(missing.count)
        for file in missing { sums.bytesMissing += file.bytes - min(file.bytes, file.bytesHere) }
        return missing
    }

    /// The database learns at the last close of a file which bytes were fetched.
    private func lacksBytes(_ file: PinnedFile) -> Bool {
        guard !file.isWhole else { return false }
        return files.existing(file.inode).map { !$0.state.withLock(\.isWhole) } ?? true
    }

    // MARK: Status

    /// Returns the status; the sums are those of the last time that all files were counted.
    func status() throws(Blocked) -> PinStatus {
        let items = try store.readBriefly { try $0.pinCount() }
        return state.withLock { state in
            var status = items == 0 ? PinStatus() : state.status
            status.items = items
            status.refusal = state.refusal
            return status
        }
    }

    /// Counts the calls that have changed what is pinned.
    var changeCount: UInt64 { state.withLock { $0.changeCount } }

    /// Changes the status, and reports that.
    func update(_ body: (inout PinStatus) -> Void) {
        let isChanged = state.withLock { state in
            let before = state.status
            body(&state.status)
            return state.status != before
        }
        if isChanged { changes.notify() }
    }
}

/// The pins in memory.
private struct PinState {
    var changeCount: UInt64 = 0
    var status = PinStatus()
    var refusal: PinStatus.Refusal?

    mutating func change() {
        changeCount += 1
        refusal = nil
        status.isCounted = false
    }
}
