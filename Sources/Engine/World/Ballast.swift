/// Room on the state directory's disk that belongs to the database.
///
/// Others may fill that disk to the last byte. What is needed to make room again, evicting and noting
/// what has been sent, goes through the database, which then takes of this. Calls block.
package protocol Ballast: Sendable {
    /// Whether nothing of it is given up.
    var isWhole: Bool { get }

    /// Whether the disk, or a quota on it, has nothing more to give: what SQLite does not tell from a
    /// disk that fails.
    func isDiskFull() -> Bool

    /// Gives some of the room to whoever writes next.
    ///
    /// - Returns: Whether there was any left.
    func giveUp() -> Bool

    /// Takes the room back, where the disk has as much; at once where nothing was given up. Else it may
    /// cost a try to allocate all of it.
    ///
    /// - Returns: Whether all of it is there.
    func restore() -> Bool
}
