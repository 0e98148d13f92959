/// The file of the database's write-ahead log, which is synced outside the database's writer.
///
/// Calls block, and are made one at a time.
package protocol DatabaseLog: Sendable {
    /// Returns once all earlier writes to the log, and its name, survive power loss. POSIX:
    /// `fdatasync`.
    ///
    /// - Throws: After a failure, a success of this call says nothing about the bytes written before
    ///   the failure: the system may have dropped them. Only ``rewrite()`` helps.
    func synchronize() throws(DiskError)

    /// Writes the present bytes of the log again and synchronises them. Nothing may be written to
    /// the log meanwhile.
    func rewrite() throws(DiskError)
}
