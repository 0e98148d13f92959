import Engine
import ProviderSupport
import SystemCalls
import Transport

/// One file to be stored.
struct WebDAVUpload: Sendable {
    let key: ObjectKey
    let name: FileName
    let source: any ByteSource
    let attributes: ObjectAttributes
    /// The target of a symbolic link.
    var target: [UInt8]?
    let base: BaseVersion
    let session: any UploadSession
    /// See ``WebDAVAttributes/nonce``.
    let nonce = Hexadecimal.nonce()

    var size: UInt64 { source.size }

    /// Returns the bytes as the body of a request.
    func body(_ range: Range<UInt64>) -> HTTPBody {
        range.isEmpty ? .bytes([]) : .source(UploadBody(source: source), range: range)
    }

    /// Stores the state of the upload durably.
    func keep(_ token: UploadToken?) throws(ProviderError) {
        do {
            try session.keep(token)
        } catch {
            throw ProviderError(
                .source, "the state of the upload cannot be stored: \(error)", cause: error)
        }
    }

    /// Whether no later try will use the bytes that have arrived.
    func isOver(after error: ProviderError) -> Bool {
        if session is UntrackedUpload { return true }
        return [.exists, .changed, .missing, .wrongKind, .source, .corrupt].contains(error.kind)
    }
}

/// A few bytes as a source.
struct WebDAVBytes: ByteSource {
    let bytes: [UInt8]

    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let rest = bytes[Int(min(offset, size))...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

/// Adapts the engine's source to the transport.
private struct UploadBody: HTTPBodySource {
    let source: any ByteSource

    var size: UInt64 { source.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try source.read(into: buffer, at: offset)
    }
}
