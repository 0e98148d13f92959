import Synchronization

extension Synchroniser {
    /// Sends a file that stays open for writing.
    ///
    /// - Returns: Whether it was sent and has to be planned again.
    func uploadOpenFile(
        _ state: SyncState, readAt commitCount: UInt64, _ file: OpenFile
    ) async throws -> Bool {
        file.state.withLock { $0.longWriterDue = clock.uptime + configuration.longWriterInterval }
        var settled = state
        settled.local?.isWriting = false
        // Changes since the last snapshot have no generation of their own yet.
        if file.state.withLock(\.isChanged) { settled.local?.generation += 1 }
        let plan = Planner.plan(settled)
        switch plan {
        case .upload: return try await uploader.perform(plan, state, readAt: commitCount) == nil
        case .createAnew:
            // It was changed after its directory was deleted.
            try merger.merge { try $0.applyLocally(plan, state) }
            return true
        default: return false
        }
    }
}
