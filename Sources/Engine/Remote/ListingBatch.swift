/// Collects the pages of a listing until they are merged together, in the order of their names: names
/// that are neighbours in the database's indexes then change in the same transaction, which writes a
/// quarter of the pages. Has no clock: time is an argument.
struct ListingBatch {
    static let objectsMax = 16_384
    /// For a listing ahead of a walk, as many of which are in progress at a time.
    static let objectsAheadMax = 1_024
    /// How long the first page waits for others; pages of a slow store are merged at once.
    static let delayMax: Duration = .seconds(1)

    /// As they came: to append their objects to one array would copy each once more.
    private var pages: [[RemoteObject]] = []
    private var count = 0
    private var begin: Duration
    private let objectsMax: Int

    init(isAhead: Bool = false, at now: Duration) {
        begin = now
        objectsMax = isAhead ? Self.objectsAheadMax : Self.objectsMax
    }

    /// - Returns: Whether the batch is to be merged.
    mutating func add(_ page: ListingPage, at now: Duration) -> Bool {
        pages.append(page.objects)
        count += page.objects.count
        return page.isLast || count >= objectsMax || now - begin >= Self.delayMax
    }

    /// Returns the objects by their names, and begins the next batch.
    mutating func take(at now: Duration) -> [RemoteObject] {
        defer { (pages, count, begin) = ([], 0, now) }
        var places: [(name: FileName, page: Int, index: Int)] = []
        places.reserveCapacity(count)
        for (page, objects) in pages.enumerated() {
            places += objects.indices.map { (objects[$0].name, page, $0) }
        }
        places.sort { $0.name < $1.name }
        return places.map { pages[$0.page][$0.index] }
    }
}
