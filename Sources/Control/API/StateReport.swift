/// One state directory, mounted or not.
package struct StateReport: Codable, Hashable, Sendable {
    package var stateDirectory: String
    /// nil if it is not known, as of a state without a database.
    package var source: String?
    /// nil if it is not mounted.
    package var mountPoint: String?
    /// Whether the daemon of that mount is dead.
    @OmittedIfFalse package var isDead = false
    /// The place of the last mount of a state that is not mounted, if known.
    package var lastMountPoint: String?
    /// The space on the disk of everything in the directory; nil if it was not measured.
    package var bytesOnDisk: UInt64?
    /// Items with changes that are not on the remote, deletions included; nil if that is not known.
    package var pending: UInt64?
    /// Bytes still to be sent for them.
    package var pendingBytes: UInt64?
    /// Remote deletions that wait for a confirmation; nil if there are none.
    package var held: UInt64?
    /// Items that --exclude keeps in this state alone; nil if there are none.
    package var excluded: UInt64?
    /// Why ``pending`` is not known; otherwise nil.
    package var unverified: Problem?

    package init(stateDirectory: String) {
        self.stateDirectory = stateDirectory
    }

    private enum CodingKeys: String, CodingKey {
        case stateDirectory, source, mountPoint, lastMountPoint, bytesOnDisk, pending, pendingBytes,
            held, excluded, unverified
        case isDead = "dead"
    }
}

extension StateReport {
    /// Whether it is not mounted, and something in it may exist nowhere else.
    package var waitsForMount: Bool {
        mountPoint == nil && (pending != 0 || held != nil)
    }
}
