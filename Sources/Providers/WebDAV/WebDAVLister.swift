import Engine
import Logging
import ProviderSupport

/// Lists directories, each with one PROPFIND.
struct WebDAVLister: Sendable {
    let lookup: WebDAVLookup
    let pageEntries: Int
    let logger: Logger

    /// The number of files with weak tags that are looked up one by one for their lasting tags. If
    /// the first page has more, the directory is listed again.
    private static let lookupsMax = 64

    /// Returns the next page of a listing.
    ///
    /// - Parameter listing: nil before the first page.
    func page(
        of directory: ObjectKey, _ listing: inout WebDAVListing?
    ) async throws(ProviderError) -> ListingPage {
        try throwIfCancelled()
        let isFirst = listing == nil
        var current: WebDAVListing
        if let listing { current = listing } else { current = try await fetch(directory) }
        var page = try current.page(entries: pageEntries)
        if isFirst, page.unstableCount > Self.lookupsMax {
            try await lookup.clock.wait(WebDAVLookup.weakPeriod)
            current = try await fetch(directory)
            page = try current.page(entries: pageEntries)
        }
        listing = current
        if page.isLast { logHidden(current, directory) }
        return ListingPage(
            objects: try await stable(page, in: directory), isLast: page.isLast)
    }

    /// Replaces the weak version tags of files written within the last second by lasting ones.
    private func stable(
        _ page: WebDAVListing.Page, in directory: ObjectKey
    ) async throws(ProviderError) -> [RemoteObject] {
        guard (1...Self.lookupsMax).contains(page.unstableCount) else {
            return page.entries.map(\.object)
        }
        try await lookup.clock.wait(WebDAVLookup.weakPeriod)
        var objects: [RemoteObject] = []
        for entry in page.entries {
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

    private func fetch(_ directory: ObjectKey) async throws(ProviderError) -> WebDAVListing {
        let address = lookup.client.address
        do throws(ProviderError) {
            let multistatus = try await lookup.client.propfind(
                address.url(directory, isCollection: true), depth: 1,
                properties: lookup.properties)
            return WebDAVListing(of: directory, at: address, lookup.objects, multistatus)
        } catch {
            throw await explained(error, listing: directory)
        }
    }

    private func logHidden(_ listing: WebDAVListing, _ directory: ObjectKey) {
        if listing.skipped > 0 {
            logger.warning(
                "invalid names are not shown",
                metadata: ["directory": "\(directory)", "count": "\(listing.skipped)"])
        }
        if let name = listing.firstUnsized {
            logger.warning(
                "files without a size (getcontentlength) are not shown",
                metadata: [
                    "directory": "\(directory)", "count": "\(listing.unsized)", "first": "\(name)",
                ])
        }
    }

    /// Looks at the directory itself, since servers differ in how they refuse to list a file.
    private func explained(
        _ error: ProviderError, listing directory: ObjectKey
    ) async -> ProviderError {
        guard error.kind == .missing || error.kind == .unsupported, directory != .root else {
            return error
        }
        do throws(ProviderError) {
            return try await lookup.found(directory).isCollection
                ? error : WebDAVLookup.notDirectory
        } catch {
            return error
        }
    }
}
