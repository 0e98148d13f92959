/// The changes that a sync waits for: those below some inodes, of files that stay open for writing those made
/// before it.
package struct SyncRequest: Sendable {
    /// Ascending, each once, without those below another one.
    package let inodes: [InodeNumber]
    /// The generation that has all changes made before the request, for each file that was open for writing
    /// with changes that had not been sent.
    let generations: [InodeNumber: Int64]
}

extension Engine {
    /// Makes everything that concerns some inodes due now, without settle time or backoff.
    ///
    /// - Returns: The request, for ``status(below:limit:onlyActive:for:)``.
    @discardableResult
    package func hasten(below inodes: [InodeNumber]) throws(EngineError) -> SyncRequest {
        try completed { () throws(Blocked) in
            let files = local.files.all
            let (roots, open) = try store.read { database in
                let roots = try database.roots(of: inodes)
                let open = try files.filter { file in
                    try roots.contains { try database.isPending(file.inode, below: $0) }
                }
                return (roots, open)
            }
            // A file that stays open for writing is uploaded in its current state.
            var hasUnsaved: [InodeNumber: Bool] = [:]
            for file in open {
                file.state.withLock { state in
                    state.longWriter.request()
                    if state.isMarkedWriting { hasUnsaved[file.inode] = state.isChanged }
                }
            }
            // Read after that: a version that began in between has the changes too.
            let generations = try store.read { database in
                try hasUnsaved.reduce(into: [InodeNumber: Int64]()) { generations, file in
                    guard let record = try database.inode(file.key) else { return }
                    generations[file.key] = record.generation + (file.value ? 1 : 0)
                }
            }
            for inode in roots { try local.agenda.hasten(below: inode) }
            return SyncRequest(inodes: roots, generations: generations)
        }
    }
}
