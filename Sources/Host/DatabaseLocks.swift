import GRDBSQLite

/// The locks of the databases that this process opens from now on.
package enum DatabaseLocks {
    /// Makes SQLite lock a database once, until it is closed, instead of for each transaction, which
    /// takes several system calls. Other processes cannot open it meanwhile. The index of its log is in
    /// memory, shared by the connections of this process.
    ///
    /// - Returns: Whether SQLite can do so.
    @discardableResult
    package static func keep() -> Bool {
        guard let files = sqlite3_vfs_find("unix-excl") else { return false }
        return sqlite3_vfs_register(files, 1) == SQLITE_OK
    }
}
