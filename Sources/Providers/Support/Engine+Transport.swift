package import Engine
package import Transport

extension HTTPBody {
    /// Sends a part of a file.
    package init(_ source: any ByteSource, _ range: Range<UInt64>) {
        self = range.isEmpty ? .bytes([]) : .source(FileBody(source: source), range: range)
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
