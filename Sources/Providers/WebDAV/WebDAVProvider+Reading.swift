package import Engine
import Synchronization
import Transport

extension WebDAVProvider {
    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let attempt = "read \(range.count) bytes at \(range.lowerBound) of \"\(key)\""
        if Task.isCancelled {
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled")
        }
        let tag = server.obeysIfMatch ? WebDAVVersion.tag(of: etag) : nil
        var headers = [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
        if let tag { headers.append(("If-Match", tag)) }
        let receiver = RangeReceiver(range, of: etag, into: sink)
        do throws(ProviderError) {
            try await receive(receiver, client.address.url(key), headers, attempt)
        } catch {
            guard error.kind == .missing || error.kind == .unsupported || error.kind == .changed
            else { throw error }
            throw try await explained(error, reading: key, etag, attempt)
        }
        guard receiver.isWhole else {
            throw ProviderError(
                .corrupt, attempt: attempt,
                reason: "\(receiver.received) of \(range.count) bytes came")
        }
        // Between looking at a file and opening it, such a server may have been given another one:
        // that the version is still there makes sure that it was all the time.
        if tag == nil || !receiver.hasTag { try await expect(etag, of: key, attempt) }
    }

    private func receive(
        _ receiver: RangeReceiver, _ url: String, _ headers: [(name: String, value: String)],
        _ attempt: String
    ) async throws(ProviderError) {
        let response: HTTPResponse
        // The transport hears of a cancellation later than bytes that have come already.
        let result = await withTaskCancellationHandler {
            () async -> Result<HTTPResponse, TransportError> in
            do throws(TransportError) {
                return .success(
                    try await client.send(
                        .get, url, headers: headers, answerBytes: receiver.wanted,
                        into: receiver, onProgress: { receiver.noteProgress($1) }))
            } catch {
                return .failure(error)
            }
        } onCancel: {
            receiver.cancel()
        }
        do throws(TransportError) {
            response = try result.get()
        } catch {
            guard error.kind == .sink else { throw WebDAVClient.failure(error, attempt) }
            switch receiver.end {
            case .enough: return
            case .refused(let kind, let reason):
                throw ProviderError(kind, attempt: attempt, reason: reason)
            case nil: throw WebDAVClient.failure(error, attempt)
            }
        }
        guard (200..<300).contains(response.status) else {
            throw client.answer(response, receiver.refusal).failure(attempt)
        }
    }

    private func expect(
        _ etag: ETag, of key: ObjectKey, _ attempt: String
    ) async throws(ProviderError) {
        guard let name = key.names.last else {
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
        }
        let entry = try await found(key, attempt)
        let object = try await settled(entry, key, named: name, attempt)
        guard object.kind == .file else {
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is no file")
        }
        guard object.isVersion(etag) else {
            throw ProviderError(
                .changed, attempt: attempt,
                reason: "it is version \(object.etag?.description ?? "none") now")
        }
    }

    /// A refusal to give bytes, told by what is there.
    private func explained(
        _ error: ProviderError, reading key: ObjectKey, _ etag: ETag, _ attempt: String
    ) async throws(ProviderError) -> ProviderError {
        do throws(ProviderError) {
            try await expect(etag, of: key, attempt)
            return error
        } catch {
            return error
        }
    }
}

/// Checks what comes for a range, and hands on what was asked for.
private final class RangeReceiver: HTTPBodySink {
    /// Why it wants no more bytes.
    enum End: Error {
        case enough
        case refused(ProviderError.Kind, String)
    }

    private struct State {
        /// The bytes of the body that come before the range.
        var skip: UInt64?
        var received: UInt64 = 0
        var hasTag = false
        var isCancelled = false
        var end: End?
        var refusal: [UInt8] = []
    }

    private let range: Range<UInt64>
    private let etag: ETag
    private let sink: any ByteSink
    private let state = Mutex(State())

    init(_ range: Range<UInt64>, of etag: ETag, into sink: any ByteSink) {
        self.range = range
        self.etag = etag
        self.sink = sink
    }

    var wanted: UInt64 { UInt64(range.count) }
    var received: UInt64 { state.withLock { $0.received } }
    var isWhole: Bool { received == UInt64(range.count) }
    var hasTag: Bool { state.withLock { $0.hasTag } }
    var end: End? { state.withLock { $0.end } }
    var refusal: [UInt8] { state.withLock { $0.refusal } }

    func noteProgress(_ received: UInt64) {
        if received == 0 { sink.noteWaiting() }
    }

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
        try sink.write(UnsafeRawBufferPointer(rebasing: bytes[wanted]), at: offset)
        state.withLock { $0.received += UInt64(wanted.count) }
    }

    /// What of the next `count` bytes belongs to the range, and where in the file.
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
                throw .refused(.corrupt, "more bytes came than were asked for")
            }
            // The whole file is sent for a part of it.
            if wanted == 0 { throw .enough }
        }
        let end = skipped + Int(min(wanted, UInt64(rest)))
        return (skipped..<end, range.lowerBound + state.received)
    }

    /// Looks at the headers.
    ///
    /// - Returns: The bytes of the body before the range.
    private func begin(_ response: HTTPResponse, _ state: inout State) throws(End) -> UInt64 {
        let headers = response.headers
        if let coding = headers["Content-Encoding"], coding.lowercased() != "identity" {
            throw .refused(.corrupt, "the bytes came encoded as \(coding.prefix(20))")
        }
        let content: ContentRange?
        switch response.status {
        case 206:
            content = headers["Content-Range"].flatMap(ContentRange.init)
            guard let content, content.range == range else {
                throw .refused(.corrupt, "other bytes came than were asked for")
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
            throw .refused(.corrupt, "it has \(size) bytes only")
        }
        return content == nil ? range.lowerBound : 0
    }
}

/// `bytes 0-99/1234`, RFC 9110, 14.4.
struct ContentRange: Hashable {
    let range: Range<UInt64>
    /// nil where the server does not tell.
    let total: UInt64?

    init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let numbers = parts[1].split(separator: "/")
        guard numbers.count == 2 else { return nil }
        let bounds = numbers[0].split(separator: "-", omittingEmptySubsequences: false)
            .map { UInt64($0) }
        guard bounds.count == 2, let first = bounds[0], let last = bounds[1], first <= last,
            last < .max
        else { return nil }
        range = first..<(last + 1)
        total = UInt64(numbers[1])
        if total == nil, numbers[1] != "*" { return nil }
        if let total, total <= last { return nil }
    }
}
