/// The bytes of files that were fetched.
struct FetchedBytes: Sendable {
    /// Since the start.
    let total = Locked<UInt64>(0)
    /// In the last hour, by program.
    let programs = Locked(DownloadLedger())
}
