/// Reserved space on the state directory's disk for the database.
///
/// Other programs may fill that disk completely. Freeing space again (evicting, recording uploads)
/// takes database writes, which then use this reserve. Calls block.
package protocol Ballast: Sendable {
    /// Whether the whole reserve is in place.
    var isWhole: Bool { get }

    /// Whether the disk or a quota on it is exhausted, which SQLite does not distinguish from a
    /// failing disk.
    func isDiskFull() -> Bool

    /// Releases part of the reserve for the next write.
    ///
    /// - Returns: Whether there was any left.
    func giveUp() -> Bool

    /// Allocates the reserve again if the disk has enough space. Returns immediately if nothing was
    /// released; otherwise it may try to allocate all of it.
    ///
    /// - Returns: Whether the whole reserve is in place.
    func restore() -> Bool
}
