import Engine
import ProviderSupport
import Synchronization

/// Remembers, for a moment, the directories in which files are created, so that one listing serves
/// many files.
///
/// S3 has no directories. So no condition of a request covers the directory in which a file is
/// created, nor one that has the name of the file: both are looked at before the request, and may
/// change until it arrives. Answers of ``validity`` lengthen that moment. Only those are remembered
/// that permit a file.
final class S3RecentListings: Sendable {
    /// The part of a listing that matters to new files.
    enum Listing: Sendable {
        /// All directories in it.
        case directories(Set<S3Key>)
        /// It has further pages.
        case tooLong
    }

    static let validity: Duration = .seconds(2)
    /// Each has at most as many keys as a page.
    private static let listingsMax = 64

    private struct State {
        var listings: [ObjectKey: (listing: Listing, at: Duration)] = [:]
        /// How many entries may be removed from directories that were seen to have a marker, or many
        /// entries.
        var removals: [ObjectKey: (count: Int, at: Duration)] = [:]
        /// The directories that are being looked at.
        var looks: [ObjectKey: Look] = [:]
    }

    private struct Look {
        let purpose: Purpose
        /// Whether a change of our own has outdated the answer, which is not remembered then.
        var isOutdated = false

        enum Purpose { case creation, removal }

        /// Whether a change of `changed` concerns a look at `directory`.
        static func isConcerned(
            _ directory: ObjectKey, by changed: ObjectKey, _ purpose: Purpose
        ) -> Bool {
            directory.names.starts(with: changed.names)
                || purpose == .creation && directory == changed.parent
        }
    }

    private let state = Mutex(State())
    /// Lets one task at a time list a directory.
    private let turns = KeyedMutex()

    /// Returns the last listing of a directory, or a new one.
    ///
    /// - Parameter list: Lists it, or throws `.missing`.
    func listing(
        of directory: ObjectKey, by clock: any Clock,
        _ list: () async throws(ProviderError) -> Listing
    ) async throws(ProviderError) -> Listing {
        if let known = known(directory, at: clock.uptime) { return known }
        return try await turns.with([directory]) { () async throws(ProviderError) in
            let now = clock.uptime
            if let known = known(directory, at: now) { return known }
            return try await look(at: directory, for: .creation, list) { state, listing in
                if state.listings.count >= Self.listingsMax { state.listings.removeAll() }
                // It may have been made right after the request was sent.
                state.listings[directory] = (listing, now)
            }
        }
    }

    private func known(_ directory: ObjectKey, at now: Duration) -> Listing? {
        state.withLock { state in
            guard let (listing, time) = state.listings[directory], now < time + Self.validity
            else { return nil }
            return listing
        }
    }

    /// Makes sure that a directory keeps a marker or other objects when one is removed from it,
    /// unless that was seen a moment ago.
    ///
    /// - Parameter check: Makes sure of it, and returns how many more may be removed.
    func keepDirectory(
        _ directory: ObjectKey, by clock: any Clock,
        _ check: () async throws(ProviderError) -> Int
    ) async throws(ProviderError) {
        if takeRemoval(from: directory, at: clock.uptime) { return }
        try await turns.with([directory]) { () async throws(ProviderError) in
            let now = clock.uptime
            if takeRemoval(from: directory, at: now) { return }
            _ = try await look(at: directory, for: .removal, check) { state, count in
                if state.removals.count >= Self.listingsMax { state.removals.removeAll() }
                state.removals[directory] = (count, now)
            }
        }
    }

    /// Looks at a directory, at which no other task looks, and stores the answer unless it is
    /// outdated.
    private func look<Answer>(
        at directory: ObjectKey, for purpose: Look.Purpose,
        _ ask: () async throws(ProviderError) -> Answer,
        store: (inout State, Answer) -> Void
    ) async throws(ProviderError) -> Answer {
        state.withLock { $0.looks[directory] = Look(purpose: purpose) }
        defer { state.withLock { _ = $0.looks.removeValue(forKey: directory) } }
        let answer = try await ask()
        state.withLock { state in
            if state.looks[directory]?.isOutdated == false { store(&state, answer) }
        }
        return answer
    }

    private func takeRemoval(from directory: ObjectKey, at now: Duration) -> Bool {
        state.withLock { state in
            guard let (count, time) = state.removals[directory], now < time + Self.validity,
                count > 0
            else { return false }
            if count < .max { state.removals[directory] = (count - 1, time) }
            return true
        }
    }

    /// Forgets all listings that a change of a directory, or of the directories below it, concerns.
    func forget(_ directory: ObjectKey) {
        state.withLock { state in
            for (key, look) in state.looks
            where Look.isConcerned(key, by: directory, look.purpose) {
                state.looks[key]?.isOutdated = true
            }
            state.listings = state.listings.filter {
                !Look.isConcerned($0.key, by: directory, .creation)
            }
            state.removals = state.removals.filter {
                !Look.isConcerned($0.key, by: directory, .removal)
            }
        }
    }
}
