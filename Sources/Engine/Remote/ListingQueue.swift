import Synchronization

/// The requested listings, which the engine runs itself, one at a time for each directory.
///
/// A listing runs to its end even if all its callers give up, so that a directory of any size is
/// eventually known.
final class ListingQueue: Sendable {
    /// One listing, from the first request to its end.
    final class Flight: Sendable {
        /// Notified once, at the end.
        let completion = Signal()
        /// The time of the first request.
        let begin: Duration
        private struct State {
            var progress: Duration
            var isAhead: Bool
            var isWithdrawn = false
            var result: Result<Void, any Error>?
        }

        private let state: Mutex<State>

        fileprivate init(isAhead: Bool, at now: Duration) {
            begin = now
            state = Mutex(State(progress: now, isAhead: isAhead))
        }

        /// Whether no program or refresh has asked for it yet, see ``TreeWalks``.
        var isAhead: Bool { state.withLock { $0.isAhead } }

        fileprivate func noteRequest() { state.withLock { $0.isAhead = false } }

        /// Withdraws the listing unless a program or refresh has asked for it. Later callers request
        /// another one after its end.
        ///
        /// - Returns: Whether it is to end.
        func withdraw() -> Bool {
            state.withLock { state in
                state.isWithdrawn = state.isWithdrawn || state.isAhead
                return state.isWithdrawn
            }
        }

        fileprivate var isWithdrawn: Bool { state.withLock { $0.isWithdrawn } }

        /// The time of the last data from the remote, or of the request.
        var progress: Duration { state.withLock { $0.progress } }

        func noteProgress(at now: Duration) {
            state.withLock { $0.progress = now }
        }

        fileprivate func wait() async throws {
            await completion.wait(after: 0)
            try Task.checkCancellation()
            try state.withLock { $0.result }?.get()
        }

        fileprivate func land(_ result: Result<Void, any Error>) {
            state.withLock { $0.result = result }
            completion.notify()
        }
    }

    private struct State {
        var flights: [InodeNumber: Flight] = [:]
        var wanted: [InodeNumber] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Notified when a listing is requested.
    private let bell = Signal()

    /// Requests a listing, or joins the one in progress.
    ///
    /// - Parameter isAhead: Whether it is not needed yet, see ``TreeWalks``.
    func request(_ directory: InodeNumber, isAhead: Bool = false, at now: Duration) -> Flight {
        let (flight, isNew) = state.withLock { state in
            if let flight = state.flights[directory] {
                if !isAhead { flight.noteRequest() }
                return (flight, false)
            }
            let flight = Flight(isAhead: isAhead, at: now)
            if state.isClosed {
                flight.land(.failure(CancellationError()))
                return (flight, false)
            }
            state.flights[directory] = flight
            state.wanted.append(directory)
            return (flight, true)
        }
        if isNew { bell.notify() }
        return flight
    }

    /// Returns once a listing has ended, or if it was withdrawn, another one.
    ///
    /// - Throws: The listing's error; `CancellationError` if the calling task is cancelled.
    func awaitEnd(
        of flight: Flight, for directory: InodeNumber, on clock: any Clock
    ) async throws {
        var flight = flight
        while true {
            do {
                return try await flight.wait()
            } catch is CancellationError where flight.isWithdrawn && !Task.isCancelled {
                flight = request(directory, at: clock.uptime)
            }
        }
    }

    /// Returns the requested or running listing of a directory.
    func flight(of directory: InodeNumber) -> Flight? {
        state.withLock { $0.flights[directory] }
    }

    /// Runs requested listings until the calling task is cancelled; later requests fail with
    /// `CancellationError`.
    func run(_ list: @escaping @Sendable (InodeNumber, Flight) async throws -> Void) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let notifications = bell.notifications
                let next = state.withLock { state in
                    state.wanted.isEmpty ? nil : state.wanted.removeFirst()
                }
                guard let directory = next, let flight = flight(of: directory) else {
                    await bell.wait(after: notifications)
                    continue
                }
                // Unbounded, because a listing may wait for one of a directory above it.
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
