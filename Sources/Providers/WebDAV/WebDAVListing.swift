import Engine
import ProviderSupport
import SystemCalls

/// The multistatus of one directory, converted into entries page by page.
struct WebDAVListing: Sendable {
    private let directory: ObjectKey
    private let address: WebDAVAddress
    private let objects: WebDAVObjects
    private let multistatus: Multistatus
    private var isDescribed = false
    /// The number of invalid names so far.
    private(set) var skipped = 0
    /// The number of files whose size the server does not report, so that they cannot be read.
    private(set) var unsized = 0
    private(set) var firstUnsized: FileName?

    init(
        of directory: ObjectKey, at address: WebDAVAddress, _ objects: WebDAVObjects,
        _ multistatus: Multistatus
    ) {
        self.directory = directory
        self.address = address
        self.objects = objects
        self.multistatus = multistatus
    }

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
                guard isDescribed else {
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
        isDescribed = true
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
