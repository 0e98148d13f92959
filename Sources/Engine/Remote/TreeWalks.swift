import GRDB

/// Lists directories ahead of a program that walks through a tree, and fetches their metadata and that
/// of their files if the program asks for it.
///
/// The listings are the ordinary ones, requested earlier: they are merged like any other, and a
/// program that needs one joins it. Those that no program has joined end when the walk does.
struct TreeWalks: Sendable {
    let store: Store
    let clock: any Clock
    let gate: RemoteGate
    let detector: Locked<WalkDetector>
    let listings: ListingQueue
    let looks: MetadataQueue

    /// How many names after a subdirectory are searched for the next ones.
    fileprivate static var namesMax: Int { 1_024 }
    /// How many levels further down directories are listed ahead.
    fileprivate static var depthMax: Int { 8 }
    /// How many directories a step searches for the next ones: the program may be waiting for it.
    static var searchedMax: Int { 256 }

    /// Records that a program needs the names of a directory that is not listed.
    func noteNeed(of directory: InodeNumber) {
        if directory != .root { try? follow(directory) }
    }

    /// Records that a program uses a directory that is listed.
    func noteUse(of directory: InodeNumber) {
        if detector.withLock({ $0.isAhead(directory) }) { try? follow(directory) }
    }

    /// Records that a directory is listed now. If it was listed ahead of a program that asks for metadata,
    /// that of its files is requested at once, rather than at the program's next step.
    func noteListing(of directory: InodeNumber) {
        let now = clock.uptime
        guard detector.withLock({ $0.expectsLooks(in: directory, at: now) }), !gate.isPaused,
            !gate.isOutOfReach(at: now)
        else { return }
        // Otherwise the next step requests it.
        try? fetchMetadata(of: [directory])
    }

    /// Records that a program waits for the attributes of something in a directory.
    ///
    /// - Returns: Whether a program asks for those of all files of the tree.
    func noteLook(in directory: InodeNumber) throws(Blocked) -> Bool {
        guard directory != .root,
            let parent = try store.read({ try $0.dirent(of: directory)?.parent })
        else { return false }
        return detector.withLock { detector in
            detector.noteLook(below: parent)
            return detector.looks(below: parent, at: clock.uptime)
        }
    }

    private func follow(_ directory: InodeNumber) throws(Blocked) {
        let now = clock.uptime
        let step = try store.read { database -> WalkDetector.Step? in
            guard let place = try database.dirent(of: directory) else { return nil }
            let above = try database.dirent(of: place.parent)
            let last = detector.withLock { $0.last(in: place.parent, at: now) }
            let next = try database.subdirectories(
                of: place.parent, after: last ?? 0, among: Self.namesMax,
                limit: last == nil ? 1 : WalkDetector.gapMax)
            return WalkDetector.Step(
                directory: directory, parent: place.parent, cookie: place.cookie,
                above: above.map { ($0.parent, $0.cookie) },
                isNext: next.contains { $0.inode == directory })
        }
        guard let step else { return }
        let plan = detector.withLock { $0.note(step, at: now) }
        if gate.isPaused || gate.isOutOfReach(at: now) { return }
        try listAhead(of: step, plan, at: now)
        if plan.looks { try fetchMetadata(of: detector.withLock { $0.unlooked(directory) }) }
    }

    private func listAhead(
        of step: WalkDetector.Step, _ plan: WalkDetector.Plan, at now: Duration
    ) throws(Blocked) {
        guard plan.listings > 0 else { return }
        let (next, unseen) = try store.read { database in
            var search = AheadSearch(
                database: database, count: plan.listings,
                isKnown: { inode in
                    detector.withLock { $0.isAhead(inode) }
                        || listings.flight(of: inode) != nil
                })
            if plan.descends { try search.add(below: step.directory, after: 0, depth: 0) }
            let depth = plan.descends ? 0 : Self.depthMax
            try search.add(below: step.parent, after: step.cookie, depth: depth)
            if plan.descends, let above = step.above {
                try search.add(below: above.parent, after: above.cookie, depth: 0)
            }
            let unseen = try search.found.filter { inode in
                guard plan.looks, let record = try database.inode(inode) else { return false }
                return try database.isUnseen(record)
            }
            return (search.found, unseen)
        }
        detector.withLock { $0.noteAhead(next) }
        for directory in next { _ = listings.request(directory, isAhead: true, at: now) }
        // The program asks for theirs before it asks for those of the files in them.
        if !unseen.isEmpty { looks.requestNext(unseen) }
    }

    /// The search for the directories that a program will need next, in its order.
    struct AheadSearch {
        let database: Database
        let count: Int
        let isKnown: (InodeNumber) -> Bool
        var found: [InodeNumber] = []
        private var searched = 0

        init(database: Database, count: Int, isKnown: @escaping (InodeNumber) -> Bool) {
            (self.database, self.count, self.isKnown) = (database, count, isKnown)
        }

        /// Adds the directories of a directory that are not listed, and those below listed ones.
        mutating func add(below directory: InodeNumber, after cookie: Int64, depth: Int) throws {
            guard found.count < count, searched < TreeWalks.searchedMax else { return }
            searched += 1
            let next = try database.subdirectories(
                of: directory, after: cookie, among: TreeWalks.namesMax,
                limit: WalkDetector.aheadMax * 2)
            for subdirectory in next where found.count < count {
                if !subdirectory.isListed {
                    if !isKnown(subdirectory.inode) { found.append(subdirectory.inode) }
                } else if depth < TreeWalks.depthMax {
                    try add(below: subdirectory.inode, after: 0, depth: depth + 1)
                }
            }
        }
    }

    /// Requests the metadata of the files in directories, as far as these are listed and there is room.
    private func fetchMetadata(of directories: [InodeNumber]) throws(Blocked) {
        for next in directories {
            guard looks.room > 0 else { return }
            let unseen = try store.read { database -> [InodeNumber]? in
                guard try database.inode(next)?.isListed == true else { return nil }
                return try database.unseen(in: next, after: 0, among: Self.namesMax)
            }
            guard let unseen, looks.requestAhead(unseen) else { continue }
            detector.withLock { $0.noteLooked(next) }
        }
    }
}
