import Engine
import Logging
import ProviderSupport

/// Lists directories, each with one PROPFIND.
struct WebDAVLister: Sendable {
    let lookup: WebDAVLookup
    let pageEntries: Int
    /// Learns the etags of listed directories; nil if they say nothing of those below.
    let feed: WebDAVFeed?
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
        guard var current = listing else {
            var first = try await fetch(directory)
            var page = try first.page(entries: pageEntries)
            if page.unstableCount > Self.lookupsMax {
                try await lookup.clock.wait(WebDAVLookup.weakPeriod)
                first = try await fetch(directory)
                page = try first.page(entries: pageEntries)
            }
            listing = first
            return try await complete(page, of: first, directory)
        }
        if let page = current.postponed.take() {
            listing = current
            return try await complete(page, of: current, directory)
        }
        let page = try current.page(entries: pageEntries)
        guard !needsLookups(page) else {
            // This page counts as local, so it must not wait for the server.
            current.postponed = page
            listing = current
            return ListingPage(objects: [], isLast: false)
        }
        listing = current
        return try await complete(page, of: current, directory)
    }

    private func complete(
        _ page: WebDAVListing.Page, of listing: WebDAVListing, _ directory: ObjectKey
    ) async throws(ProviderError) -> ListingPage {
        if page.isLast {
            logHidden(listing, directory)
            if let own = listing.own { feed?.noteListing(of: directory, own) }
        }
        return ListingPage(
            objects: try await stable(page, in: directory), isLast: page.isLast,
            isNextLocal: !page.isLast)
    }

    /// Whether files of a page have to be looked up one by one.
    private func needsLookups(_ page: WebDAVListing.Page) -> Bool {
        (1...Self.lookupsMax).contains(page.unstableCount)
    }

    /// Replaces the weak version tags of files written within the last second by lasting ones.
    private func stable(
        _ page: WebDAVListing.Page, in directory: ObjectKey
    ) async throws(ProviderError) -> [RemoteObject] {
        guard needsLookups(page) else { return page.entries.map(\.object) }
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
            return WebDAVListing(
                directory: directory, address: address, objects: lookup.objects,
                multistatus: multistatus)
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

/// The multistatus of one directory, converted into entries page by page.
struct WebDAVListing: Sendable {
    let directory: ObjectKey
    let address: WebDAVAddress
    let objects: WebDAVObjects
    let multistatus: Multistatus
    /// A page that is parsed and whose files have still to be looked up.
    var postponed: Page?
    /// The directory itself; nil until the answer has described it.
    private(set) var own: WebDAVEntry?
    /// The number of invalid names so far.
    private(set) var skipped = 0
    /// The number of files whose size the server does not report, so that they cannot be read.
    private(set) var unsized = 0
    private(set) var firstUnsized: FileName?

    struct Page {
        var entries: [Entry] = []
        var isLast = false

        var unstableCount: Int { entries.count { !$0.isStable } }
    }

    struct Entry {
        let object: RemoteObject
        /// Whether its version tag stays the same while nothing changes.
        let isStable: Bool
    }

    /// Returns the next page, which has no name twice.
    ///
    /// - Throws: `.wrongKind`; `.busy` for a resource that the server does not describe: a child left
    ///   out would be taken for deleted; `.corrupt`.
    mutating func page(entries count: Int) throws(ProviderError) -> Page {
        var page = Page()
        var names: Set<FileName> = []
        while page.entries.count < count {
            guard let found = try multistatus.next() else {
                guard own != nil else {
                    throw ProviderError(.corrupt, "the server's answer is about another resource")
                }
                page.isLast = true
                return page
            }
            switch address.place(of: found.href, from: directory) {
            case .itself: try requireDirectory(found)
            case .elsewhere, .oddChild: skipped += 1
            case .child(let name):
                if let entry = try entry(found, name), names.insert(name).inserted {
                    page.entries.append(entry)
                }
            }
        }
        return page
    }

    private mutating func requireDirectory(_ found: WebDAVEntry) throws(ProviderError) {
        if case .untold(let status) = found.presence {
            throw WebDAVLookup.untold(status, of: directory)
        }
        guard found.isCollection else { throw WebDAVLookup.notDirectory }
        own = found
    }

    private mutating func entry(
        _ found: WebDAVEntry, _ name: FileName
    ) throws(ProviderError) -> Entry? {
        guard !WebDAVName.isReserved(name) else { return nil }
        switch found.presence {
        case .present: break
        case .missing, .lockAlone: return nil
        case .untold(let status):
            throw WebDAVLookup.untold(status, of: directory.appending(name))
        }
        guard found.isSized else {
            unsized += 1
            firstUnsized = firstUnsized ?? name
            return nil
        }
        let (object, isStable) = objects.object(found, named: name)
        return Entry(object: object, isStable: isStable)
    }
}
