/// Tells a listing that is long from one that has no end, as a store that has gone wrong gives it.
struct ListingCourse {
    /// Some stores have pages without entries, and what they list may all be shown as one.
    static let idlePagesMax = 100
    /// From here on it is told how far a listing has come, and whenever it has come twice as far.
    static let entriesTold = 1_000_000
    static let durationTold: Duration = .seconds(300)

    private let entriesMax: Int
    private let begin: Duration
    private var nextEntriesTold = Self.entriesTold
    private var nextDurationTold = Self.durationTold
    /// Where pages began, but for the first.
    private var begun: Set<PageToken> = []
    private(set) var entries = 0
    private var idlePages = 0

    init(entriesMax: Int, at begin: Duration) {
        self.entriesMax = entriesMax
        self.begin = begin
    }

    /// Why a listing that has come to this page will not end.
    struct Endless: Error, Hashable {
        let kind: ProviderError.Kind
        let reason: String
    }

    /// - Parameter newNames: Of the page's entries, those that no page before had.
    /// - Throws: `.corrupt` for a page that has been there before, and for very many in a row with
    ///   nothing new; `.unsupported` above the bound of entries.
    mutating func take(_ page: ListingPage, newNames: Int) throws(Endless) {
        entries += newNames
        idlePages = newNames > 0 ? 0 : idlePages + 1
        if entries > entriesMax {
            throw Endless(
                kind: .unsupported, reason: "more than \(entriesMax) entries, and no end")
        }
        guard let next = page.next else { return }
        if !begun.insert(next).inserted {
            throw Endless(
                kind: .corrupt, reason: "no end: after \(entries) entries a page comes again")
        }
        if idlePages >= Self.idlePagesMax {
            throw Endless(
                kind: .corrupt,
                reason: "no end: nothing new in \(idlePages) pages after \(entries) entries")
        }
    }

    /// For how long a listing goes on that is so long that people are to know of it; nil where it is
    /// not, or where they were told not long ago.
    mutating func takeLength(at now: Duration) -> Duration? {
        let duration = now - begin
        guard entries >= nextEntriesTold || duration >= nextDurationTold else { return nil }
        while entries >= nextEntriesTold { nextEntriesTold *= 2 }
        while duration >= nextDurationTold { nextDurationTold *= 2 }
        return duration
    }
}
