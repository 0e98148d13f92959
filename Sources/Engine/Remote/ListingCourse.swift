/// Distinguishes a long listing from an endless one, as a faulty store produces.
struct ListingCourse {
    /// Maximum number of consecutive pages without a new name. Some stores return empty pages, or
    /// pages whose objects all have the same name here.
    static let idlePagesMax = 100
    /// The length at which progress is first logged; then whenever it has doubled.
    static let entriesTold = 1_000_000
    static let durationTold: Duration = .seconds(300)

    private let entriesMax: Int
    private let begin: Duration
    private var nextEntriesTold = Self.entriesTold
    private var nextDurationTold = Self.durationTold
    private(set) var entries = 0
    private var idlePages = 0

    init(entriesMax: Int, at begin: Duration) {
        self.entriesMax = entriesMax
        self.begin = begin
    }

    /// - Parameter newNames: The number of names in the page that no earlier page had.
    /// - Throws: `.corrupt` for ``idlePagesMax`` pages without a new name, as if a store repeats a
    ///   page; `.unsupported` above the maximum number of entries.
    mutating func take(newNames: Int, isLast: Bool) throws(ProviderError) {
        entries += newNames
        idlePages = newNames > 0 ? 0 : idlePages + 1
        if entries > entriesMax {
            throw ProviderError(.unsupported, "more than \(entriesMax) entries")
        }
        if !isLast, idlePages >= Self.idlePagesMax {
            throw ProviderError(
                .corrupt, "endless: no new entry in \(idlePages) pages after \(entries) entries")
        }
    }

    /// Returns the listing's duration if it is due to be logged; nil if the listing is short or was
    /// logged recently.
    mutating func takeLength(at now: Duration) -> Duration? {
        let duration = now - begin
        guard entries >= nextEntriesTold || duration >= nextDurationTold else { return nil }
        while entries >= nextEntriesTold { nextEntriesTold *= 2 }
        while duration >= nextDurationTold { nextDurationTold *= 2 }
        return duration
    }
}
