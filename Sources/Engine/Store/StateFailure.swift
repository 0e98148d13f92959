import GRDB

extension DatabaseError {
    /// Whether the disk is full, for the log or for its index.
    var saysFull: Bool {
        resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE
    }

    /// Whether the file is damaged.
    var saysDamage: Bool {
        resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB
    }
}

/// Performs work on a state database, and describes its failure.
func onDatabase<Value>(
    _ attempt: @autoclosure () -> String, _ work: () throws -> Value
) throws(EngineError) -> Value {
    do {
        return try work()
    } catch let error as EngineError {
        throw error
    } catch {
        throw EngineError(database: error, attempt())
    }
}

extension EngineError {
    /// Describes a failure of the state database.
    ///
    /// - Parameter isOpen: Whether it was opened before. SQLite then opens further files only for
    ///   more readers at once, or for the log, and fails if the process has no descriptors left.
    init(database error: any Error, _ attempt: String, isOpen: Bool = false) {
        let failure = error as? DatabaseError
        let (kind, remedy): (Kind, String?) =
            switch failure?.resultCode {
            case _ where failure?.saysFull == true: (.outOfSpace, Self.fullRemedy)
            case _ where failure?.saysDamage == true:
                (.damaged, "unmount, then run `apus check` on the state directory")
            case .SQLITE_CANTOPEN where isOpen: (.tooManyOpen, Self.openFilesRemedy)
            case .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_CANTOPEN: (.denied, Self.deniedRemedy)
            default: (.failed, nil)
            }
        self.init(kind, attempt, remedy: remedy, cause: error)
    }

    /// Describes a failure of the state directory's disk.
    ///
    /// - Parameter remedy: That of another directory.
    package init(_ error: DiskError, _ attempt: String, remedy other: String? = nil) {
        let (kind, remedy): (Kind, String?) =
            switch error.kind {
            case .full: (.outOfSpace, Self.fullRemedy)
            case .tooLarge: (.tooLarge, nil)
            case .denied: (.denied, Self.deniedRemedy)
            case .tooManyOpen: (.tooManyOpen, Self.openFilesRemedy)
            case .missing, .failed: (.failed, nil)
            }
        self.init(
            kind, "\(attempt): \(error.attempt): \(error.reason)", remedy: other ?? remedy,
            cause: error)
    }

    private static let openFilesRemedy =
        "raise the limit of open files (ulimit -n, or LimitNOFILE of the service) and mount again"
    private static let fullRemedy = "free space on the state directory's disk"
    private static let deniedRemedy = "make the state directory writable"
}
