import Synchronization

/// The listings that somebody wants: one at a time of a directory, done by the engine itself.
///
/// However many wait for one, and whoever of them gives up: it goes on to its end, so that a
/// directory of any size is known one day.
final class ListingQueue: Sendable {
    /// One listing, from the first wish to its end.
    final class Flight: Sendable {
        /// Rings once, at the end.
        let landing = Doorbell()
        private let state: Mutex<(progress: Duration, result: Result<Void, any Error>?)>

        fileprivate init(at now: Duration) {
            state = Mutex((now, nil))
        }

        /// When it last got something from the remote, or when it was asked for.
        var progress: Duration { state.withLock { $0.progress } }

        func noteProgress(at now: Duration) {
            state.withLock { $0.progress = now }
        }

        /// - Throws: What it ended with; `CancellationError` for a task that is cancelled meanwhile.
        func wait() async throws {
            await landing.wait(after: 0)
            try Task.checkCancellation()
            try state.withLock { $0.result }?.get()
        }

        fileprivate func land(_ result: Result<Void, any Error>) {
            state.withLock { $0.result = result }
            landing.ring()
        }
    }

    private struct State {
        var flights: [InodeNumber: Flight] = [:]
        var wanted: [InodeNumber] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Rings when something is wanted.
    private let bell = Doorbell()

    /// Asks for a listing, or joins the one that is under way.
    func request(_ directory: InodeNumber, at now: Duration) -> Flight {
        let (flight, isNew) = state.withLock { state in
            if let flight = state.flights[directory] { return (flight, false) }
            let flight = Flight(at: now)
            if state.isClosed {
                flight.land(.failure(CancellationError()))
                return (flight, false)
            }
            state.flights[directory] = flight
            state.wanted.append(directory)
            return (flight, true)
        }
        if isNew { bell.ring() }
        return flight
    }

    /// The listing of a directory that is wanted or under way.
    func flight(of directory: InodeNumber) -> Flight? {
        state.withLock { $0.flights[directory] }
    }

    /// Does what is wanted until the calling task is cancelled; whoever wants something afterwards
    /// is told that it is.
    func run(_ list: @escaping @Sendable (InodeNumber, Flight) async throws -> Void) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let rings = bell.rings
                let next = state.withLock { state in
                    state.wanted.isEmpty ? nil : state.wanted.removeFirst()
                }
                guard let directory = next, let flight = flight(of: directory) else {
                    await bell.wait(after: rings)
                    continue
                }
                // One may wait for another, above it, so that no number of them is a limit.
                group.addTask {
                    do {
                        try await list(directory, flight)
                        self.end(directory, .success(()))
                    } catch {
                        self.end(directory, .failure(error))
                    }
                }
            }
            group.cancelAll()
        }
        let left = state.withLock { state in
            state.isClosed = true
            return state.wanted
        }
        for directory in left { end(directory, .failure(CancellationError())) }
    }

    private func end(_ directory: InodeNumber, _ result: Result<Void, any Error>) {
        let flight = state.withLock { $0.flights.removeValue(forKey: directory) }
        flight?.land(result)
    }
}
