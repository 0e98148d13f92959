#if BUGS
    import Synchronization

    /// Mistakes that the simulator has to find, or it proves nothing. Compiled in only by
    /// `make soak-bugs`; see `docs/sync.md`.
    package enum DeliberateBug: String, CaseIterable, Sendable {
        /// A writer does not wait for the snapshot of an upload that reads the file (I3).
        case uploadWithoutSnapshot
        /// A write to a partial file is acknowledged before the database knows of it (I1).
        case acknowledgeBeforeCommit
        /// What is not on the remote yet may be evicted (I2).
        case evictDirty
        /// A listing that failed counts as an empty one (I2).
        case deleteAfterFailedListing
        /// An upload replaces whatever is there (I4).
        case uploadWithoutCondition
        /// A restart forgets which inodes were renamed (I6).
        case forgetRenamesAtStart
        /// A lost answer is not looked up (I7).
        case retryWithoutAttempt
        /// In a conflict the remote's version replaces ours (I2).
        case dropOursInConflict
        /// A partial file is sent as it is (I3).
        case uploadWithHoles
        /// A listing takes what we are just sending for somebody else's (I7).
        case takeOwnForForeign
        /// What was written while an upload was under way counts as sent (I2).
        case countLaterWritesAsSent
        /// Damaged bytes count as fetched (I5).
        case serveDamagedBytes
        /// What a killed process had written is not taken for a new version (I6).
        case forgetWritesAtStart

        private static let made = Mutex<DeliberateBug?>(nil)

        /// To be called before any engine starts.
        package static func make(_ bug: DeliberateBug?) {
            made.withLock { $0 = bug }
        }

        var isMade: Bool { Self.made.withLock { $0 } == self }
    }
#endif
