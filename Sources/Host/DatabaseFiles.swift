import CDatabase

/// SQLite's access to the files of the databases of this process.
package enum DatabaseFiles {
    /// SQLite's own, with locks that are kept.
    private static let locked = "unix-excl"
    /// The name for SQLite.
    static let name = "apus"

    /// Saves system calls. SQLite locks a database once, until it is closed, instead of for each
    /// transaction: other processes cannot open it meanwhile, and the index of its log is in memory,
    /// shared by the connections of this process. The frames of a commit are written to the log at
    /// once.
    ///
    /// - Parameter byDefault: Whether databases opened from now on are accessed so.
    /// - Returns: Whether SQLite can do so.
    @discardableResult
    package static func register(byDefault: Bool = true) -> Bool {
        apus_join_log_writes(locked, name, byDefault)
    }
}
