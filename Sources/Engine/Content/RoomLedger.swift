/// Reckons whether more bytes fit onto the state directory's disk, without asking the disk each
/// time. It knows no disk and no clock.
///
/// ``StorageSpace/reserve`` stays free.
struct RoomLedger {
    /// How long a measurement holds: others write to the disk as well.
    private static let age: Duration = .seconds(1)

    private var left: UInt64 = 0
    private var measured: Duration?
    /// Whether the disk has refused bytes that should have fitted, as one with a quota does.
    private(set) var isRefused = false
    /// Before this moment there is no room, and looking for some again is no use.
    private var hopelessUntil: Duration = .zero

    /// Takes `bytes` off what is left.
    ///
    /// - Returns: Whether there is that much; else nothing was taken.
    mutating func take(
        _ bytes: UInt64, at now: Duration, measure: () throws -> StorageSpace
    ) rethrows -> Bool {
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

    /// Forgets the last measurement, and that bytes were refused: room was made.
    mutating func forget() {
        measured = nil
        isRefused = false
    }

    /// The disk has refused bytes: there is no room, whatever it says, until some was made, or has
    /// been looked for in vain.
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
