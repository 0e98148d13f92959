/// Runs `work` beside a watchdog, and cancels it if the watchdog returns first.
///
/// - Returns: The result of `work`, and whether the watchdog cancelled it.
func withWatchdog<Value: Sendable, Failure: Error>(
    _ watchdog: @escaping @Sendable () async -> Void,
    _ work: @escaping @Sendable () async throws(Failure) -> Value
) async -> (result: Result<Value, Failure>, isCutShort: Bool) {
    await withTaskGroup(of: Result<Value, Failure>?.self) { group in
        group.addTask {
            do throws(Failure) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        group.addTask {
            await watchdog()
            return nil
        }
        var isCutShort = false
        while let end = await group.next() {
            group.cancelAll()
            guard let result = end else {
                // A watchdog that was itself cancelled has detected nothing.
                isCutShort = !Task.isCancelled
                continue
            }
            if case .success = result { return (result, false) }
            return (result, isCutShort)
        }
        preconditionFailure("the work ended without a result")
    }
}
