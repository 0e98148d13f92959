extension ControlClient {
    /// Frees the local bytes of files, and reports how many are freed while it takes long.
    ///
    /// - Parameters:
    ///   - interval: Between two reports, and before the first.
    ///   - report: Receives the number of bytes freed so far, by everything in the mount.
    package func evict(
        _ paths: [String], reportingEvery interval: Duration,
        _ report: @escaping @Sendable (UInt64) -> Void
    ) async throws -> EvictReport {
        try await withThrowingTaskGroup(of: EvictReport?.self) { group in
            group.addTask { try await evict(paths) }
            group.addTask {
                // A daemon that does not answer this fails the eviction, or does not matter.
                guard let before = try? await localBytes() else { return nil }
                while (try? await Task.sleep(for: interval)) != nil,
                    let now = try? await localBytes()
                {
                    report(before - min(before, now))
                }
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            preconditionFailure("an eviction returns a report, or throws")
        }
    }

    private func localBytes() async throws -> UInt64 {
        try await status(below: [], limit: 1).counts.localBytes
    }
}
