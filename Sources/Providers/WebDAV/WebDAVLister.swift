import Engine
import Logging
import ProviderSupport

/// Lists directories in pages.
///
/// A directory is fetched with one PROPFIND, whose answer is kept while its pages are read. The
/// token `1a2b.3` consists of the listing's number, in hexadecimal, and the page.
struct WebDAVLister: Sendable {
    let lookup: WebDAVLookup
    let listings: WebDAVListings
    let logger: Logger

    /// The number of files with weak tags that are looked up one by one for their lasting tags. If
    /// there are more, the directory is listed again.
    private static let lookupsMax = 64

    func list(
        _ directory: ObjectKey, page token: PageToken?
    ) async throws(ProviderError) -> ListingPage {
        try throwIfCancelled()
        if let token { return try await next(token, directory) }
        let listing: WebDAVListing
        do throws(ProviderError) {
            listing = try await fetchStable(directory)
        } catch {
            throw await explained(error, listing: directory)
        }
        let number = listing.pageCount > 1 ? listings.keep(listing) : 0
        return try await page(0, of: listing, number, directory)
    }

    private func next(
        _ token: PageToken, _ directory: ObjectKey
    ) async throws(ProviderError) -> ListingPage {
        let parts = token.rawValue.split(separator: ".")
        guard parts.count == 2, let number = UInt64(parts[0], radix: 16), let index = Int(parts[1])
        else {
            throw ProviderError(
                .unsupported, "\"\(token.rawValue)\" is not a page of a listing")
        }
        guard let listing = listings.listing(number), (0..<listing.pageCount).contains(index) else {
            throw ProviderError(.busy, "the listing has expired")
        }
        return try await page(index, of: listing, number, directory)
    }

    private func page(
        _ index: Int, of listing: WebDAVListing, _ number: UInt64, _ directory: ObjectKey
    ) async throws(ProviderError) -> ListingPage {
        let listed: [WebDAVListed]
        do {
            listed = try listing.page(index)
        } catch {
            throw ProviderError(
                .busy, "the stored listing cannot be read: \(error)", cause: error)
        }
        let isLast = index + 1 == listing.pageCount
        let token = isLast ? nil : PageToken("\(String(number, radix: 16)).\(index + 1)")
        return ListingPage(objects: try await stable(listed, in: directory), next: token)
    }

    /// Replaces the weak version tags of files written within the last second by lasting ones.
    private func stable(
        _ listed: [WebDAVListed], in directory: ObjectKey
    ) async throws(ProviderError) -> [RemoteObject] {
        let unstable = listed.filter { !$0.isStable }.count
        guard unstable > 0, unstable <= Self.lookupsMax else { return listed.map(\.object) }
        try await lookup.clock.wait(WebDAVLookup.weakPeriod)
        var objects: [RemoteObject] = []
        for entry in listed {
            guard !entry.isStable else {
                objects.append(entry.object)
                continue
            }
            let name = entry.object.name
            if let found = try await lookup.entry(at: directory.appending(name)) {
                objects.append(lookup.objects.object(found, named: name).object)
            }
        }
        return objects
    }

    // MARK: Fetching

    /// Lists a directory, and once again if very many of its files have weak tags.
    private func fetchStable(_ directory: ObjectKey) async throws(ProviderError) -> WebDAVListing {
        let (listing, unstable) = try await fetch(directory)
        guard unstable > Self.lookupsMax else { return listing }
        try await lookup.clock.wait(WebDAVLookup.weakPeriod)
        return try await fetch(directory).listing
    }

    /// - Returns: The listing, and the number of files with tags that may still change.
    private func fetch(
        _ directory: ObjectKey
    ) async throws(ProviderError) -> (listing: WebDAVListing, unstable: Int) {
        let collector = ListingCollector(WebDAVSpool(pageEntries: listings.pageEntries))
        let address = lookup.client.address
        let objects = lookup.objects
        try await lookup.client.propfind(
            address.url(directory, isCollection: true), depth: 1, properties: lookup.properties
        ) { entry throws(XMLError) in
            let place = address.place(of: entry.href, from: directory)
            try collector.take(entry, at: place) { objects.object($0, named: $1) }
        }
        let outcome = collector.outcome
        log(outcome, directory)
        guard let own = outcome.own else {
            throw ProviderError(.corrupt, "the server's answer is about another resource")
        }
        if case .untold(let status) = own.presence {
            throw WebDAVLookup.untold(status, of: directory)
        }
        guard own.isCollection else { throw Self.notDirectory }
        // A child left out would be taken for deleted.
        if let (name, status) = outcome.untold {
            throw WebDAVLookup.untold(status, of: directory.appending(name))
        }
        do {
            return (try collector.finish(), outcome.unstable)
        } catch {
            throw ProviderError(
                .busy, "the listing cannot be stored: \(error)", cause: error)
        }
    }

    private func log(_ outcome: ListingCollector.Outcome, _ directory: ObjectKey) {
        if outcome.skipped > 0 {
            logger.warning(
                "invalid names are not shown",
                metadata: ["directory": "\(directory)", "count": "\(outcome.skipped)"])
        }
        if let name = outcome.unsized.first {
            logger.warning(
                "files without a size (getcontentlength) are not shown",
                metadata: [
                    "directory": "\(directory)", "count": "\(outcome.unsized.count)",
                    "first": "\(name)",
                ])
        }
    }

    private static var notDirectory: ProviderError {
        ProviderError(.wrongKind, "it is not a directory")
    }

    /// Looks at the directory itself, since servers differ in how they refuse to list a file.
    private func explained(
        _ error: ProviderError, listing directory: ObjectKey
    ) async -> ProviderError {
        guard error.kind == .missing || error.kind == .unsupported, directory != .root else {
            return error
        }
        do throws(ProviderError) {
            return try await lookup.found(directory).isCollection ? error : Self.notDirectory
        } catch {
            return error
        }
    }
}
