import Engine
import Glibc
import ProviderSupport
import Synchronization
import SystemCalls

/// A new file under a hidden name, until it is published or dropped.
///
/// Its lock shows other processes that it is not a leftover. Steps run one after the other, each on a
/// thread that may block.
final class FolderUpload: Sendable {
    private let place: FolderPlace
    private let descriptor: Descriptor
    private let source: any ByteSource
    private let buffer: FolderBuffer
    /// The present name of the file; nil once it is published.
    private let name: Mutex<FileName?>

    /// Creates an empty file beside `place`.
    init(
        at place: FolderPlace, from source: any ByteSource, pieceBytes: Int
    ) throws(ProviderError) {
        let (name, descriptor) = try Self.create(in: place.directory)
        self.place = place
        self.descriptor = descriptor
        self.source = source
        self.name = Mutex(name)
        buffer = FolderBuffer(count: Int(min(UInt64(pieceBytes), max(source.size, 1))))
    }

    /// Copies bytes from the source, at most one piece.
    func copy(_ range: Range<UInt64>) throws(ProviderError) {
        let count = Int(range.upperBound - range.lowerBound)
        var filled = 0
        while filled < count {
            let offset = range.lowerBound + UInt64(filled)
            let read = try take(into: buffer.bytes[filled..<count], at: offset)
            guard read > 0 else {
                throw ProviderError(.source, "it ended at \(offset) of \(source.size) bytes")
            }
            filled += read
        }
        try reporting(
            "write",
            PosixIO.write(
                descriptor.rawValue, UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]),
                at: Int64(range.lowerBound)))
    }

    /// Gives the file its name in one step, with all its bytes and attributes durable.
    func publish(
        attributes: ObjectAttributes, traits: ProviderTraits, base: BaseVersion,
        _ session: any UploadSession
    ) throws(ProviderError) -> RemoteObject {
        let status = try complete(attributes, traits)
        do {
            try session.expect(status.etag)
        } catch {
            throw ProviderError(.source, "its version cannot be saved: \(error)", cause: error)
        }
        guard let current = name.withLock({ $0 }) else {
            preconditionFailure("a file is published once")
        }
        switch base {
        case .absent:
            try place.directory.moveWithoutReplacing(current, to: place.directory, place.name)
        case .version(let etag):
            let swap = FolderName.swap(status.version, etag.description)
            try place.directory.rename(current, to: place.directory, swap, replacing: .always)
            name.withLock { $0 = swap }
            try place.directory.replace(place.name, of: etag, by: swap, status)
        }
        name.withLock { $0 = nil }
        try place.directory.synchronize()
        return RemoteObject(
            name: place.name, kind: .file, etag: status.etag, size: status.size,
            modified: status.modified, mode: status.permissions,
            extendedAttributes: traits.extendedAttributes == nil
                ? nil : attributes.extendedAttributes)
    }

    /// Removes the file if it was not published.
    func drop() {
        guard let name = name.withLock({ $0.take() }),
            let own = try? FolderStatus(of: descriptor),
            let found = try? place.directory.status(of: name), found.isSameObject(as: own)
        else { return }
        try? place.directory.removeFile(name)
    }

    private func complete(
        _ attributes: ObjectAttributes, _ traits: ProviderTraits
    ) throws(ProviderError) -> FolderStatus {
        if traits.extendedAttributes != nil {
            try descriptor.set(
                attributes.extendedAttributes, allowedBy: attributes.mode,
                keepsMode: traits.keepsMode)
        }
        let (mode, times) = (
            mode_t(attributes.mode & 0o7777), attributes.modified.asAccessAndModified
        )
        if traits.keepsMode {
            try ProviderError.check("chmod", fchmod(descriptor.rawValue, mode))
        }
        try ProviderError.check("futimens", futimens(descriptor.rawValue, times))
        try ProviderError.check("fsync", fsync(descriptor.rawValue))
        return try FolderStatus(of: descriptor)
    }

    private func take(
        into buffer: Slice<UnsafeMutableRawBufferPointer>, at offset: UInt64
    ) throws(ProviderError) -> Int {
        do {
            return try source.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer), at: offset)
        } catch {
            throw ProviderError(.source, "the bytes cannot be read: \(error)", cause: error)
        }
    }

    /// Creates a file and locks it; creates another if a process removes it in between as a leftover.
    private static func create(
        in directory: FolderDirectory
    ) throws(ProviderError) -> (FileName, Descriptor) {
        for _ in 0..<10 {
            let name = FolderName.new()
            let file = try directory.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            if flock(file.rawValue, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { continue }
            if try FolderStatus(of: file).links > 0 { return (name, file) }
        }
        throw ProviderError(.busy, "temporary files are removed as soon as they are created")
    }
}

/// Memory for one piece.
private final class FolderBuffer: @unchecked Sendable {
    // Sound: the steps of an upload run one after the other, so one thread at a time uses it.
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) {
        bytes = .allocate(byteCount: count, alignment: 4096)
    }

    deinit {
        bytes.deallocate()
    }
}
