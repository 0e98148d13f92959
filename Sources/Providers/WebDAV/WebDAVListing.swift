import Engine
import ProviderSupport
import System

/// The entries of one directory, in pages: in memory if they are short, else in an unnamed file.
final class WebDAVListing: Sendable {
    /// The offsets at which the pages begin, and the end of the last one.
    private let offsets: [Int]
    private let storage: WebDAVSpool.Storage

    init(offsets: [Int], storage: WebDAVSpool.Storage) {
        self.offsets = offsets
        self.storage = storage
    }

    var pageCount: Int { offsets.count - 1 }

    /// - Parameter index: Below ``pageCount``.
    func page(_ index: Int) throws(SystemError) -> [WebDAVListed] {
        let range = offsets[index]..<offsets[index + 1]
        let bytes: [UInt8]
        switch storage {
        case .memory(let all): bytes = Array(all[range])
        case .file(let file): bytes = try file.read(range)
        }
        var reader = SpoolReader(bytes: bytes[...])
        var page: [WebDAVListed] = []
        while let listed = reader.next() { page.append(listed) }
        return page
    }
}

/// One entry of a listing.
struct WebDAVListed: Hashable, Sendable {
    var object: RemoteObject
    /// Whether its version tag stays the same while nothing changes.
    var isStable: Bool
}

/// Collects a listing as it arrives.
struct WebDAVSpool {
    enum Storage: Sendable {
        case memory([UInt8])
        case file(SpoolFile)
    }

    /// Longer listings go to a file.
    static let memoryBytesMax = 256 << 10

    private let pageEntries: Int
    private var offsets = [0]
    private var namesOfPage: Set<FileName> = []
    private var buffer: [UInt8] = []
    private var file: SpoolFile?
    private var written = 0

    init(pageEntries: Int) {
        self.pageEntries = pageEntries
    }

    /// Appends an entry unless its page has one with the same name.
    mutating func append(_ listed: WebDAVListed) throws(SystemError) {
        if namesOfPage.count == pageEntries {
            offsets.append(written + buffer.count)
            namesOfPage = []
        }
        guard namesOfPage.insert(listed.object.name).inserted else { return }
        SpoolWriter.append(listed, to: &buffer)
        if buffer.count > Self.memoryBytesMax { try spill() }
    }

    mutating func finish() throws(SystemError) -> WebDAVListing {
        offsets.append(written + buffer.count)
        guard let file else { return WebDAVListing(offsets: offsets, storage: .memory(buffer)) }
        try spill()
        return WebDAVListing(offsets: offsets, storage: .file(file))
    }

    private mutating func spill() throws(SystemError) {
        let file: SpoolFile
        if let existing = self.file { file = existing } else { file = try SpoolFile() }
        self.file = file
        try file.append(buffer, at: written)
        written += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }
}
