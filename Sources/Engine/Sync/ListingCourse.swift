/// Tells a listing that is long from one that has no end, as a store that has gone wrong gives it.
struct ListingCourse {
    /// Some stores have pages without entries, and what they list may all be shown as one.
    static let idlePagesMax = 100

    private let entriesMax: Int
    /// Where pages began, but for the first.
    private var begun: Set<PageToken> = []
    private var entries = 0
    private var idlePages = 0

    init(entriesMax: Int) {
        self.entriesMax = entriesMax
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
}
