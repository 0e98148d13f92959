import Engine
import Synchronization

/// Listings that are being read page by page.
///
/// A server sends a directory in one answer of any length, and a second request may give another
/// answer. So pages are served from the first one, see ``WebDAVListing``. A listing is dropped if it
/// was not used for a while or there are too many; its reader then has to start again.
final class WebDAVListings: Sendable {
    private static let keptMax = 64
    private static let keptFor: Duration = .seconds(600)

    private struct Kept {
        let listing: WebDAVListing
        var lastUse: Duration
    }

    let pageEntries: Int
    private let clock: any Clock
    private let state = Mutex<[UInt64: Kept]>([:])

    init(clock: any Clock, pageEntries: Int) {
        self.clock = clock
        self.pageEntries = pageEntries
    }

    /// - Returns: The number to find it by.
    func keep(_ listing: WebDAVListing) -> UInt64 {
        let now = clock.uptime
        let number = UInt64.random(in: .min ... .max)
        state.withLock { kept in
            kept = kept.filter { now - $0.value.lastUse < Self.keptFor }
            if kept.count >= Self.keptMax,
                let oldest = kept.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                kept[oldest.key] = nil
            }
            kept[number] = Kept(listing: listing, lastUse: now)
        }
        return number
    }

    func listing(_ number: UInt64) -> WebDAVListing? {
        let now = clock.uptime
        return state.withLock { kept in
            kept[number]?.lastUse = now
            return kept[number]?.listing
        }
    }
}
