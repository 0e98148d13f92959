package import Engine
import Logging
import ProviderSupport
import Synchronization

/// A directory is asked for in one PROPFIND, whose answer is kept while its pages are read; see
/// ``WebDAVListings``. The token `1a2b.3` is the listing's number, in hexadecimal, and the page.
extension WebDAVProvider {
    /// How many fresh files are looked at again, one by one, for their lasting tags; of more the
    /// directory is listed again.
    private static var settledMax: Int { 64 }

    package func list(
        _ directory: ObjectKey, page: PageToken?
    ) async throws(ProviderError) -> ListingPage {
        let attempt = "list \"\(directory)\""
        if Task.isCancelled {
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled")
        }
        if let page { return try await next(page, directory, attempt) }
        let listing: WebDAVListing
        do throws(ProviderError) {
            listing = try await fetchSettled(directory, attempt)
        } catch {
            throw await explained(error, listing: directory, attempt)
        }
        let number = listing.pageCount > 1 ? listings.keep(listing) : 0
        return try await self.page(0, of: listing, number, directory, attempt)
    }

    private func next(
        _ token: PageToken, _ directory: ObjectKey, _ attempt: String
    ) async throws(ProviderError) -> ListingPage {
        let parts = token.rawValue.split(separator: ".")
        guard parts.count == 2, let number = UInt64(parts[0], radix: 16), let index = Int(parts[1])
        else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "\"\(token.rawValue)\" is no page of a listing")
        }
        guard let listing = listings.listing(number), (0..<listing.pageCount).contains(index) else {
            throw ProviderError(
                .busy, attempt: attempt, reason: "the listing is too old to be gone on with")
        }
        return try await page(index, of: listing, number, directory, attempt)
    }

    private func page(
        _ index: Int, of listing: WebDAVListing, _ number: UInt64, _ directory: ObjectKey,
        _ attempt: String
    ) async throws(ProviderError) -> ListingPage {
        let listed: [WebDAVListed]
        do {
            listed = try listing.page(index)
        } catch {
            throw ProviderError(
                .busy, attempt: attempt, reason: "the kept listing cannot be read: \(error)",
                cause: error)
        }
        let isLast = index + 1 == listing.pageCount
        let token = isLast ? nil : PageToken("\(String(number, radix: 16)).\(index + 1)")
        return ListingPage(
            objects: try await settled(listed, in: directory, attempt), next: token)
    }

    /// Gives those files their lasting tags that were changed by others this very second.
    private func settled(
        _ listed: [WebDAVListed], in directory: ObjectKey, _ attempt: String
    ) async throws(ProviderError) -> [RemoteObject] {
        let fresh = listed.filter { !$0.isSettled }.count
        guard fresh > 0, fresh <= Self.settledMax else { return listed.map(\.object) }
        try await wait(Self.ripening, attempt)
        var objects: [RemoteObject] = []
        for entry in listed {
            guard !entry.isSettled else {
                objects.append(entry.object)
                continue
            }
            let name = entry.object.name
            if let found = try await look(at: directory.appending(name), attempt) {
                objects.append(object(found, named: name).object)
            }
        }
        return objects
    }

    // MARK: Fetching

    /// Lists a directory, once more where others have just written very many files in it.
    private func fetchSettled(
        _ directory: ObjectKey, _ attempt: String
    ) async throws(ProviderError) -> WebDAVListing {
        let (listing, fresh) = try await fetch(directory, attempt)
        guard fresh > Self.settledMax else { return listing }
        try await wait(Self.ripening, attempt)
        return try await fetch(directory, attempt).listing
    }

    /// - Returns: Also how many files have tags that may not last.
    private func fetch(
        _ directory: ObjectKey, _ attempt: String
    ) async throws(ProviderError) -> (listing: WebDAVListing, fresh: Int) {
        let collector = ListingCollector(WebDAVSpool(pageEntries: listings.pageEntries))
        let address = client.address
        try await client.propfind(
            address.url(directory, isCollection: true), depth: 1, properties: properties,
            attempt: attempt
        ) { entry throws(XMLError) in
            let place = address.place(of: entry.href, from: directory)
            try collector.take(entry, at: place) { self.object($0, named: $1) }
        }
        let outcome = collector.outcome
        if outcome.skipped > 0 {
            logger.warning(
                "names that no file can have are not shown",
                metadata: ["directory": "\(directory)", "count": "\(outcome.skipped)"])
        }
        if let name = outcome.unsized.first {
            logger.warning(
                "files are not shown: the server does not tell their size (getcontentlength)",
                metadata: [
                    "directory": "\(directory)", "count": "\(outcome.unsized.count)",
                    "first": "\(name)",
                ])
        }
        guard let own = outcome.own else {
            throw ProviderError(
                .corrupt, attempt: attempt, reason: "the server's answer speaks of something else")
        }
        if case .untold(let status) = own.presence {
            throw Self.untold(status, of: directory, attempt)
        }
        guard own.isCollection else {
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is no directory")
        }
        // Left out, it would be taken for deleted.
        if let (name, status) = outcome.untold {
            throw Self.untold(status, of: directory.appending(name), attempt)
        }
        do {
            return (try collector.finish(), outcome.fresh)
        } catch {
            throw ProviderError(
                .busy, attempt: attempt, reason: "the listing cannot be kept: \(error)",
                cause: error)
        }
    }

    /// Servers have many words for a listing of what is no directory.
    private func explained(
        _ error: ProviderError, listing directory: ObjectKey, _ attempt: String
    ) async -> ProviderError {
        guard error.kind == .missing || error.kind == .unsupported, directory != .root else {
            return error
        }
        do throws(ProviderError) {
            let entry = try await found(directory, attempt)
            if entry.isCollection { return error }
            return ProviderError(.wrongKind, attempt: attempt, reason: "it is no directory")
        } catch {
            return error
        }
    }

    /// - Throws: `.notEmpty` where a directory holds anything but what a dead process has left.
    func expectEmpty(_ directory: ObjectKey, _ attempt: String) async throws(ProviderError) {
        let address = client.address
        let children = WebDAVBox<Int>()
        try await client.propfind(
            address.url(directory, isCollection: true), depth: 1, properties: "<D:resourcetype/>",
            attempt: attempt
        ) { entry in
            switch address.place(of: entry.href, from: directory) {
            case .itself: break
            case .child(let name) where WebDAVName.isReserved(name): break
            // What cannot be understood is something, too.
            case .child, .oddChild, .elsewhere: children.update { $0 = ($0 ?? 0) + 1 }
            }
        }
        guard children.value == nil else {
            throw ProviderError(.notEmpty, attempt: attempt, reason: "it still holds something")
        }
    }
}

/// Takes what a listing tells, on the transport's thread.
final class ListingCollector: Sendable {
    struct Outcome: Sendable {
        var own: WebDAVEntry?
        /// Names that are none.
        var skipped = 0
        /// Files of which the server does not tell how large they are, so that nobody can read them.
        var unsized: [FileName] = []
        /// Files whose tags may not last.
        var fresh = 0
        /// A child of which the server does not say what it is.
        var untold: (name: FileName, status: Int)?
    }

    private struct State {
        var spool: WebDAVSpool
        var outcome = Outcome()
    }

    private let state: Mutex<State>

    init(_ spool: WebDAVSpool) {
        state = Mutex(State(spool: spool))
    }

    var outcome: Outcome { state.withLock { $0.outcome } }

    func take(
        _ entry: WebDAVEntry, at place: WebDAVAddress.Place,
        _ object: (WebDAVEntry, FileName) -> (object: RemoteObject, isSettled: Bool)
    ) throws(XMLError) {
        let failure = state.withLock { state -> SystemError? in
            switch place {
            case .itself: state.outcome.own = entry
            case .elsewhere, .oddChild: state.outcome.skipped += 1
            case .child(let name):
                guard !WebDAVName.isReserved(name) else { break }
                switch entry.presence {
                case .present: break
                case .missing, .lockAlone: return nil
                case .untold(let status):
                    state.outcome.untold = (name, status)
                    return nil
                }
                guard entry.isSized else {
                    state.outcome.unsized.append(name)
                    return nil
                }
                let (object, isSettled) = object(entry, name)
                if !isSettled { state.outcome.fresh += 1 }
                do throws(SystemError) {
                    try state.spool.append(WebDAVListed(object: object, isSettled: isSettled))
                } catch {
                    return error
                }
            }
            return nil
        }
        if let failure { throw XMLError("it cannot be kept: \(failure)") }
    }

    func finish() throws(SystemError) -> WebDAVListing {
        let result = state.withLock { state -> Result<WebDAVListing, SystemError> in
            do throws(SystemError) {
                return .success(try state.spool.finish())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
