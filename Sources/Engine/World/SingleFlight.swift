import Synchronization

/// Lets one task at a time do the work for a key, while the others who want it wait.
final class SingleFlight<Key: Hashable & Sendable>: Sendable {
    private let flights = Mutex<[Key: Doorbell]>([:])

    /// Does the work, or waits for whoever does it already.
    ///
    /// - Returns: Whether this call did the work. One that waited looks for itself at how it ended,
    ///   and may do it again.
    func run(_ key: Key, _ work: () async throws -> Void) async throws -> Bool {
        let (bell, isOurs) = flights.withLock { flights in
            if let bell = flights[key] { return (bell, false) }
            let bell = Doorbell()
            flights[key] = bell
            return (bell, true)
        }
        guard isOurs else {
            await bell.wait(after: 0)
            try Task.checkCancellation()
            return false
        }
        defer {
            flights.withLock { _ = $0.removeValue(forKey: key) }
            bell.ring()
        }
        try await work()
        return true
    }
}
