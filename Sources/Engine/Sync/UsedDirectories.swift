/// The directories that somebody looks into, the ones to be kept fresh.
struct UsedDirectories {
    /// How many are remembered; of more, those used last.
    private static let countMax = 1_024
    /// How long after its last use a directory counts as used. The kernel answers from its cache
    /// for a while, so that we do not see every use.
    private static let age: Duration = .seconds(300)

    private var uses: [InodeNumber: Duration] = [:]

    mutating func note(_ directory: InodeNumber, at now: Duration) {
        uses[directory] = now
        if uses.count > Self.countMax * 2 { forgetOldest() }
    }

    /// Those used of late, and always the root; ascending.
    mutating func current(at now: Duration) -> [InodeNumber] {
        uses = uses.filter { now - $0.value < Self.age }
        if uses.count > Self.countMax { forgetOldest() }
        return Set(uses.keys).union([.root]).sorted()
    }

    private mutating func forgetOldest() {
        let newest = uses.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.prefix(Self.countMax)
        uses = Dictionary(uniqueKeysWithValues: Array(newest))
    }
}
