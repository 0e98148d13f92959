/// The bytes of files that were fetched.
struct FetchedBytes: Sendable {
    /// Since the start.
    let total = Locked<UInt64>(0)
    let recent = Locked(RecentBytes())
    /// In the last hour, by program.
    let programs = Locked(DownloadLedger())

    /// - Returns: Whether they are the first ones in this second.
    func note(_ bytes: UInt64, at now: Duration) -> Bool {
        total.withLock { $0 += bytes }
        return recent.withLock { $0.note(bytes, at: now) }
    }
}
