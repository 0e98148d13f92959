/// The bytes of files that were fetched.
struct FetchedBytes: Sendable {
    /// Since the start.
    let total = Locked<UInt64>(0)
    let recent = Locked(RecentBytes())
    /// In the last hour, by program.
    let programs = Locked(DownloadLedger())

    func note(_ bytes: UInt64, at now: Duration) {
        total.withLock { $0 += bytes }
        recent.withLock { $0.note(bytes, at: now) }
    }
}
