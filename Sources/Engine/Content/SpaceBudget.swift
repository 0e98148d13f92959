/// Computes whether more bytes fit onto the state directory's disk, without asking the disk each
/// time. It has no access to disk or clock.
///
/// ``StorageSpace/reserve`` stays free.
struct SpaceBudget {
    /// How long a measurement is valid: other processes write to the disk too.
    private static let age: Duration = .seconds(1)

    private var left: UInt64 = 0
    private var measured: Duration?
    /// Whether the disk has refused bytes that should have fitted, for example because of a quota.
    private(set) var isRefused = false
    /// Until this moment there is no room, and evicting again is pointless.
    private var hopelessUntil: Duration = .zero

    /// Subtracts `bytes` from the remaining room.
    ///
    /// - Returns: Whether there is that much; otherwise nothing is subtracted.
    mutating func take<Failure: Error>(
        _ bytes: UInt64, at now: Duration, measure: () throws(Failure) -> StorageSpace
    ) throws(Failure) -> Bool {
        guard !isRefused else { return false }
        let isOld = measured.map { now - $0 > Self.age } ?? true
        if isOld || bytes > left {
            left = Self.usable(try measure())
            measured = now
        }
        guard bytes < left else { return false }
        left -= bytes
        return true
    }

    /// Forgets the last measurement and a refusal, after room was made.
    mutating func forget() {
        measured = nil
        isRefused = false
    }

    /// Records that the disk has refused bytes: there is no room, regardless of measurements, until
    /// some was made, or an attempt to make some has failed.
    mutating func refuse() {
        measured = nil
        isRefused = true
    }

    func isHopeless(at now: Duration) -> Bool { now < hopelessUntil }

    mutating func giveUp(at now: Duration) {
        hopelessUntil = now + Self.age
        isRefused = false
    }

    private static func usable(_ space: StorageSpace) -> UInt64 {
        space.availableBytes > space.reserve ? space.availableBytes - space.reserve : 0
    }
}
