package import Engine
import Glibc
import ProviderSupport
import SystemCalls

extension FolderProvider {
    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let file = try await perform(onCancel: .abandon) { () throws(ProviderError) in
            try openFile(key, etag: etag, range: range)
        }
        // Each piece is checked before it is passed on.
        sink.confirm(range)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let start = offset
            let count = Int(min(UInt64(options.pieceBytes), range.upperBound - start))
            // Two steps, since only the first may outlive a cancelled call: the sink must not receive
            // anything after the call has ended.
            let piece = try await perform(onCancel: .abandon) { () throws(ProviderError) in
                try file.piece(at: start, count: count)
            }
            try await perform(onCancel: .finish) { () throws(ProviderError) in
                do {
                    try piece.withUnsafeBytes { bytes in try sink.write(bytes, at: start) }
                } catch {
                    throw ProviderError(.sink, "the bytes were refused: \(error)", cause: error)
                }
            }
            offset += UInt64(count)
        }
    }

    private func openFile(
        _ key: ObjectKey, etag: ETag, range: Range<UInt64>
    ) throws(ProviderError) -> FolderReader {
        let place = try root.place(of: key)
        // Checked first, since opening a pipe or a device may have an effect.
        guard try place.status().kind == .file else {
            throw ProviderError(.wrongKind, "it is not a file")
        }
        let reader = FolderReader(
            try place.directory.open(place.name, O_RDONLY | O_NONBLOCK), etag: etag)
        let size = try reader.checkedSize()
        guard range.upperBound <= size else {
            throw ProviderError(.unsupported, "it has only \(size) bytes")
        }
        return reader
    }
}

/// One version of a file, open for reading.
struct FolderReader: Sendable {
    private let descriptor: Descriptor
    private let etag: ETag

    init(_ descriptor: Descriptor, etag: ETag) {
        self.descriptor = descriptor
        self.etag = etag
    }

    /// - Throws: `.changed` if the file is no longer the expected version.
    func checkedSize() throws(ProviderError) -> UInt64 {
        let status = try FolderStatus(of: descriptor)
        guard status.kind == .file else { throw ProviderError(.wrongKind, "it is not a file") }
        guard status.etag == etag else {
            throw ProviderError(.changed, "it is version \(status.etag), not \(etag)")
        }
        return status.size
    }

    /// Reads `count` bytes, and checks that they belong to this version.
    func piece(at start: UInt64, count: Int) throws(ProviderError) -> [UInt8] {
        let bytes = try reporting(
            "read", PosixIO.read(descriptor.rawValue, count: count, at: Int64(start)))
        _ = try checkedSize()
        guard bytes.count == count else {
            throw ProviderError(.corrupt, "\(bytes.count) of \(count) bytes were read")
        }
        return bytes
    }
}
