package import Engine
package import Transport

extension HTTPBody {
    /// Sends a part of a file.
    package init(_ source: any ByteSource, _ range: Range<UInt64>) {
        self = range.isEmpty ? .bytes([]) : .source(FileBody(source: source), range: range)
    }

    /// Sends a part of a file. A short one is read now, on the calling thread, so that its request
    /// needs no other thread to be sent.
    ///
    /// - Throws: `.source`.
    package init(reading source: any ByteSource, _ range: Range<UInt64>) throws(ProviderError) {
        if range.count <= Self.shortBytesMax {
            self = .bytes(try source.bytes(in: range))
        } else {
            self.init(source, range)
        }
    }

    /// As many uploads may wait for their turn with their bytes in memory as the engine carries out
    /// at a time.
    private static var shortBytesMax: Int { 64 << 10 }
}

extension ByteSource {
    /// Reads bytes into memory.
    ///
    /// - Throws: `.source`.
    package func bytes(in range: Range<UInt64>) throws(ProviderError) -> [UInt8] {
        var read = 0
        let bytes: [UInt8]
        do {
            bytes = try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
                while read < range.count {
                    let rest = UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[read..<range.count])
                    let more = try self.read(into: rest, at: range.lowerBound + UInt64(read))
                    if more == 0 { break }
                    read += more
                }
                filled = read
            }
        } catch {
            throw ProviderError(.source, "the bytes cannot be read: \(error)", cause: error)
        }
        guard read == range.count else {
            throw ProviderError(
                .source, "it ended at \(range.lowerBound + UInt64(read)) of \(size) bytes")
        }
        return bytes
    }
}

/// Adapts the engine's source to the transport.
private struct FileBody: HTTPBodySource {
    let source: any ByteSource

    var size: UInt64 { source.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try source.read(into: buffer, at: offset)
    }
}

extension ProviderError {
    /// - Parameter invalid: The kind of error if the answer is not HTTP.
    package init(_ error: TransportError, invalid: Kind) {
        let kind: Kind =
            switch error.kind {
            case .unreachable, .interrupted, .timedOut, .tls: .unreachable
            case .sink: .sink
            case .source: .source
            case .tooLarge: .corrupt
            case .invalid: invalid
            case .cancelled: .cancelled
            }
        let isCallers = kind == .sink || kind == .source
        self.init(kind, error.reason, cause: isCallers ? error.cause ?? error : error)
    }
}
