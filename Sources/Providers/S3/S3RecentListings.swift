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
        /// How many objects may be removed from directories that were seen to have a marker, or many
        /// objects.
        var removals: [ObjectKey: (count: Int, at: Duration)] = [:]
        /// Counts our own changes of directories, so that no listing from before one is remembered.
        var changes: UInt64 = 0
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
            let changes = state.withLock(\.changes)
            let listing = try await list()
            state.withLock { state in
                guard state.changes == changes else { return }
                if state.listings.count >= Self.listingsMax { state.listings.removeAll() }
                // It may have been made right after the request was sent.
                state.listings[directory] = (listing, now)
            }
            return listing
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
            let changes = state.withLock(\.changes)
            let count = try await check()
            state.withLock { state in
                guard state.changes == changes else { return }
                if state.removals.count >= Self.listingsMax { state.removals.removeAll() }
                state.removals[directory] = (count, now)
            }
        }
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
            state.changes += 1
            state.listings = state.listings.filter { key, _ in
                key != directory.parent && !key.names.starts(with: directory.names)
            }
            state.removals = state.removals.filter { !$0.key.names.starts(with: directory.names) }
        }
    }
}
