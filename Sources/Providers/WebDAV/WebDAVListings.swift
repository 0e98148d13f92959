import Engine
import Glibc
import ProviderSupport
import Synchronization

/// Listings that are being read page by page.
///
/// A server tells a directory in one answer, however long, and would tell another one if it were
/// asked again for each page. So the answer is kept: in memory while it is short, in a file without
/// a name beyond that, and pages are served from it. A token names the listing and the page. A
/// listing goes when nobody has asked for it in a while, or when there are too many; whoever asks
/// for it then has to begin anew.
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

    /// Keeps a listing.
    ///
    /// - Returns: The number under which it is found again.
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

/// The entries of one directory, in pages.
final class WebDAVListing: Sendable {
    /// Where each page begins, and where the last one ends.
    private let offsets: [Int]
    private let storage: WebDAVSpool.Storage

    fileprivate init(offsets: [Int], storage: WebDAVSpool.Storage) {
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
    /// Whether its mark stays while nothing changes.
    var isSettled: Bool
}

/// Collects a listing as it arrives.
struct WebDAVSpool {
    fileprivate enum Storage: Sendable {
        case memory([UInt8])
        case file(SpoolFile)
    }

    /// Beyond this, entries go to a file.
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

    /// Takes an entry; of several with one name in a page, the first counts.
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

/// A file without a name, which goes with its last reference.
private final class SpoolFile: Sendable {
    private let descriptor: OwnedDescriptor

    init() throws(SystemError) {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array("\(folder)/apus-listing.XXXXXX".utf8CString)
        let number = mkstemp(&template)
        guard number >= 0 else { throw .last }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        descriptor = OwnedDescriptor(owning: number)
        unlink(template)
    }

    func append(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { rest in
                pwrite(descriptor.number, rest.baseAddress, rest.count, off_t(offset + done))
            }
            if count > 0 {
                done += count
            } else if errno != EINTR {
                throw .last
            }
        }
    }

    func read(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeMutableBytes { rest in
                pread(
                    descriptor.number, rest.baseAddress, rest.count, off_t(range.lowerBound + done))
            }
            if count > 0 {
                done += count
            } else if count == 0 {
                throw SystemError(EIO)
            } else if errno != EINTR {
                throw .last
            }
        }
        return bytes
    }
}

// MARK: Bytes

/// Fixed fields first, then the variable ones, each after its length. Read by the process that
/// wrote it, so in its own byte order and without a version.
private enum SpoolWriter {
    static func append(_ listed: WebDAVListed, to bytes: inout [UInt8]) {
        let object = listed.object
        var flags: UInt8 = listed.isSettled ? 1 : 0
        switch object.kind {
        case .file: flags |= 0
        case .directory: flags |= 2
        case .symlink: flags |= 4
        }
        if object.etag != nil { flags |= 8 }
        if object.mode != nil { flags |= 16 }
        if object.extendedAttributes != nil { flags |= 32 }
        bytes.append(flags)
        append(object.size, to: &bytes)
        append(object.modified.nanoseconds, to: &bytes)
        append(object.mode ?? 0, to: &bytes)
        append(object.name.bytes, to: &bytes)
        append(Array((object.etag?.description ?? "").utf8), to: &bytes)
        append(object.target ?? [], to: &bytes)
        append(object.extendedAttributes?.encoded ?? [], to: &bytes)
    }

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value) { bytes += $0 }
    }

    private static func append(_ value: [UInt8], to bytes: inout [UInt8]) {
        append(UInt32(value.count), to: &bytes)
        bytes += value
    }
}

private struct SpoolReader {
    var bytes: ArraySlice<UInt8>

    mutating func next() -> WebDAVListed? {
        guard let flags = bytes.popFirst(), let size = integer(UInt64.self),
            let modified = integer(Int64.self), let mode = integer(UInt16.self),
            let name = field().flatMap({ FileName($0) }), let etag = field(), let target = field(),
            let attributes = field()
        else { return nil }
        let kind: FileKind = flags & 2 != 0 ? .directory : flags & 4 != 0 ? .symlink : .file
        let object = RemoteObject(
            name: name, kind: kind,
            etag: flags & 8 != 0 ? ETag(String(decoding: etag, as: UTF8.self)) : nil, size: size,
            modified: Timestamp(nanoseconds: modified), mode: flags & 16 != 0 ? mode : nil,
            target: kind == .symlink ? target : nil,
            extendedAttributes: flags & 32 != 0 ? ExtendedAttributes(encoded: attributes) : nil)
        return WebDAVListed(object: object, isSettled: flags & 1 != 0)
    }

    private mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let count = MemoryLayout<Value>.size
        guard bytes.count >= count else { return nil }
        let value = bytes.prefix(count).withUnsafeBytes { $0.loadUnaligned(as: Value.self) }
        bytes = bytes.dropFirst(count)
        return value
    }

    private mutating func field() -> [UInt8]? {
        guard let count = integer(UInt32.self), bytes.count >= Int(count) else { return nil }
        defer { bytes = bytes.dropFirst(Int(count)) }
        return Array(bytes.prefix(Int(count)))
    }
}
