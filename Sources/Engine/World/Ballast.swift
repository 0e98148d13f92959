/// Room on the state directory's disk that belongs to the database.
///
/// Others may fill that disk to the last byte. What is needed to make room again, evicting and noting
/// what has been sent, goes through the database, which then takes of this. Calls block.
package protocol Ballast: Sendable {
    /// Gives some of the room to whoever writes next.
    ///
    /// - Returns: Whether there was any left.
    func giveUp() -> Bool

    /// Takes the room back, where the disk has as much; at once where nothing was given up.
    ///
    /// - Returns: Whether all of it is there.
    func restore() -> Bool
}
