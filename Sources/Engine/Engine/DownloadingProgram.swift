/// A program that has had bytes of files fetched.
package struct DownloadingProgram: Hashable, Sendable {
    /// A file, and the bytes of it that were fetched for one program.
    package struct File: Hashable, Sendable {
        /// From the mount point on, without a leading slash.
        package var path: String
        package var bytes: UInt64
    }

    /// The name of its executable file or script, or one of those of ``DownloadLedger``.
    package var name: String
    package var bytes: UInt64
    /// The number of files, without those that were too many to tell apart.
    package var fileCount: Int
    /// Whether some files were too many to tell apart.
    package var hasMoreFiles: Bool
    /// The files with the most bytes that still have a name, in descending order.
    package var largest: [File]
}

extension DownloadRequests {
    /// Returns the programs that have had bytes fetched in the last hour, those with the most bytes first.
    ///
    /// - Parameter filesMax: The number of files named for each.
    package func programs(filesMax: Int) throws(EngineError) -> [DownloadingProgram] {
        let now = downloader.clock.uptime
        let ledger = downloader.fetched.programs.withLock { $0.files(at: now) }
        return try completed { () throws(Blocked) in
            try store.read { database in
                try ledger.map { name, files in
                    let largest = files.compactMap { inode, bytes in inode.map { ($0, bytes) } }
                        .sorted { ($0.1, $1.0) > ($1.1, $0.0) }.prefix(filesMax)
                    return DownloadingProgram(
                        name: name, bytes: files.values.reduce(0, +),
                        fileCount: files.keys.count { $0 != nil },
                        hasMoreFiles: files[nil] != nil,
                        largest: try largest.compactMap { inode, bytes in
                            guard try database.inode(inode) != nil else { return nil }
                            let path = ObjectKey(try database.path(of: inode)).description
                            return DownloadingProgram.File(path: path, bytes: bytes)
                        })
                }.sorted { ($0.bytes, $1.name) > ($1.bytes, $0.name) }
            }
        }
    }
}
