import Engine
import ProviderSupport
import Synchronization
import Transport

/// Reads ranges of files.
struct WebDAVReader: Sendable {
    let lookup: WebDAVLookup

    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try throwIfCancelled()
        let condition = lookup.ifMatch(etag)
        let receiver = RangeReceiver(range, of: etag, isConditional: !condition.isEmpty, into: sink)
        do throws(ProviderError) {
            try await receive(
                receiver, lookup.client.address.url(key),
                [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")] + condition)
        } catch {
            guard error.kind == .missing || error.kind == .unsupported || error.kind == .changed
            else { throw error }
            // A look at the file explains more than the refusal does.
            try await expect(etag, of: key)
            throw error
        }
        guard receiver.isWhole else {
            throw ProviderError(
                .corrupt, "only \(receiver.received) of \(range.count) bytes arrived")
        }
        // A server that does not obey If-Match may have replaced the file between its look at the
        // version and its opening of the file. If the version is still there, it was all the time.
        if condition.isEmpty || !receiver.hasTag { try await expect(etag, of: key) }
    }

    private func receive(
        _ receiver: RangeReceiver, _ url: String, _ headers: [(name: String, value: String)]
    ) async throws(ProviderError) {
        // The transport learns of a cancellation later than of bytes that have already arrived.
        let result = await withTaskCancellationHandler {
            () async -> Result<HTTPResponse, TransportError> in
            do throws(TransportError) {
                return .success(
                    try await lookup.client.send(
                        .get, url, headers: headers, answerBytes: receiver.wanted,
                        into: receiver))
            } catch {
                return .failure(error)
            }
        } onCancel: {
            receiver.cancel()
        }
        let response: HTTPResponse
        do throws(TransportError) {
            response = try result.get()
        } catch {
            guard error.kind == .sink else { throw ProviderError(error, invalid: .corrupt) }
            switch receiver.end {
            case .enough: return
            case .refused(let kind, let reason): throw ProviderError(kind, reason)
            case nil: throw ProviderError(error, invalid: .corrupt)
            }
        }
        guard (200..<300).contains(response.status) else {
            throw lookup.client.answer(response, receiver.refusal).failure
        }
    }

    private func expect(_ etag: ETag, of key: ObjectKey) async throws(ProviderError) {
        guard let name = key.names.last else {
            throw ProviderError(.wrongKind, "it is a directory")
        }
        let object = try await lookup.stable(try await lookup.found(key), key, named: name)
        guard object.kind == .file else { throw ProviderError(.wrongKind, "it is not a file") }
        try object.expect(etag)
    }
}

/// Checks the answer to a GET of a range and passes on the bytes of that range.
final class RangeReceiver: HTTPBodySink {
    /// Why the transfer was ended.
    enum End: Error {
        case enough
        case refused(ProviderError.Kind, String)
    }

    private struct State {
        /// The bytes of the body before the range that are still to come.
        var skip: UInt64?
        var received: UInt64 = 0
        var hasTag = false
        var isCancelled = false
        var end: End?
        var refusal: [UInt8] = []
    }

    private let range: Range<UInt64>
    private let etag: ETag
    private let isConditional: Bool
    private let sink: any ByteSink
    private let state = Mutex(State())

    /// - Parameter isConditional: Whether the server is known to obey `If-Match`, and was sent it.
    init(
        _ range: Range<UInt64>, of etag: ETag, isConditional: Bool = false, into sink: any ByteSink
    ) {
        self.range = range
        self.etag = etag
        self.isConditional = isConditional
        self.sink = sink
    }

    var wanted: UInt64 { UInt64(range.count) }
    var received: UInt64 { state.withLock { $0.received } }
    var isWhole: Bool { received == UInt64(range.count) }
    var hasTag: Bool { state.withLock { $0.hasTag } }
    var end: End? { state.withLock { $0.end } }
    var refusal: [UInt8] { state.withLock { $0.refusal } }

    func cancel() {
        state.withLock { $0.isCancelled = true }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        guard (200..<300).contains(response.status) else {
            return state.withLock { state in
                let room = WebDAVClient.answerBytesMax - state.refusal.count
                state.refusal += bytes.prefix(max(0, room))
            }
        }
        let (wanted, offset) = try state.withLock { state throws(End) in
            do throws(End) {
                return try take(bytes.count, response, &state)
            } catch {
                state.end = error
                throw error
            }
        }
        guard !wanted.isEmpty else { return }
        if isConditional, offset == range.lowerBound, hasTag { sink.confirm(range) }
        try sink.write(UnsafeRawBufferPointer(rebasing: bytes[wanted]), at: offset)
        state.withLock { $0.received += UInt64(wanted.count) }
    }

    /// Returns the part of the next `count` bytes that belongs to the range, and its offset in the file.
    private func take(
        _ count: Int, _ response: HTTPResponse, _ state: inout State
    ) throws(End) -> (Range<Int>, UInt64) {
        if state.isCancelled { throw .refused(.cancelled, "cancelled") }
        let start: UInt64
        if let skip = state.skip { start = skip } else { start = try begin(response, &state) }
        let skipped = Int(min(start, UInt64(count)))
        state.skip = start - UInt64(skipped)
        let rest = count - skipped
        let wanted = UInt64(range.count) - state.received
        if UInt64(rest) > wanted {
            guard response.status == 200 else {
                throw .refused(.corrupt, "the server sent more bytes than requested")
            }
            // The server sends the whole file.
            if wanted == 0 { throw .enough }
        }
        let end = skipped + Int(min(wanted, UInt64(rest)))
        return (skipped..<end, range.lowerBound + state.received)
    }

    /// Checks the headers.
    ///
    /// - Returns: The number of bytes in the body before the range.
    private func begin(_ response: HTTPResponse, _ state: inout State) throws(End) -> UInt64 {
        let headers = response.headers
        if let coding = headers["Content-Encoding"], coding.lowercased() != "identity" {
            throw .refused(.corrupt, "the server encoded the bytes as \(coding.prefix(20))")
        }
        let content: ContentRange?
        switch response.status {
        case 206:
            content = headers["Content-Range"].flatMap(ContentRange.init)
            guard let content, content.range == range else {
                throw .refused(.corrupt, "the server sent another range than requested")
            }
        case 200: content = nil
        default: throw .refused(.corrupt, "the server answered \(response.status) to a GET")
        }
        let size =
            content == nil ? headers["Content-Length"].flatMap { UInt64($0) } : content?.total
        let version = WebDAVVersion(
            etag: headers["ETag"], lastModified: headers["Last-Modified"], size: size)
        state.hasTag = version.etag != nil
        guard version.canBe(etag) else {
            throw .refused(.changed, "it is version \(version.etag ?? "unknown") now")
        }
        if let size, size < range.upperBound {
            throw .refused(.corrupt, "it has only \(size) bytes")
        }
        return content == nil ? range.lowerBound : 0
    }
}
