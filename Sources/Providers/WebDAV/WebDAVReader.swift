import Engine
import ProviderSupport
import Synchronization
import Transport

/// Reads ranges of files.
///
/// A server that does not obey `If-Match` may replace a file between its look at the version and its
/// opening of the file, and may write into one that it is sending. So the version is looked at again:
/// if it is still there, all bytes that were received before are of it. Bytes count as soon as that is
/// known, while the others are still arriving.
struct WebDAVReader: Sendable {
    let lookup: WebDAVLookup

    /// The length of the parts of a range that are confirmed one by one, at least; the first has no more. A
    /// program usually waits for a shorter range.
    private static let partBytesMin: UInt64 = 1 << 20
    /// After this time, a server has opened the file that it was asked for.
    static let openTime: Duration = .milliseconds(2)

    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try throwIfCancelled()
        let condition = lookup.ifMatch(etag)
        let receiver = RangeReceiver(range, of: etag, isConditional: !condition.isEmpty, into: sink)
        let headers =
            [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")] + condition
        do throws(ProviderError) {
            guard condition.isEmpty else {
                try await receive(receiver, key, headers)
                if !receiver.hasTag { try await expect(etag, of: key) }
                return
            }
            try await both(
                { () async throws(ProviderError) in try await receive(receiver, key, headers) },
                { () async throws(ProviderError) in
                    try await confirm(receiver, range, key, etag)
                })
        } catch {
            guard error.kind == .missing || error.kind == .unsupported || error.kind == .changed
            else { throw error }
            // A look at the file explains more than the refusal does.
            try await expect(etag, of: key)
            throw error
        }
    }

    /// Performs two operations side by side. If one fails, the other is cancelled.
    private func both(
        _ one: @escaping @Sendable () async throws(ProviderError) -> Void,
        _ other: @escaping @Sendable () async throws(ProviderError) -> Void
    ) async throws(ProviderError) {
        let result = await withTaskGroup(of: Result<Void, ProviderError>.self) { group in
            for operation in [one, other] {
                group.addTask {
                    do throws(ProviderError) {
                        return .success(try await operation())
                    } catch {
                        return .failure(error)
                    }
                }
            }
            for await result in group {
                guard case .failure = result else { continue }
                group.cancelAll()
                return result
            }
            return .success(())
        }
        try result.get()
    }

    /// Looks at the version until all bytes are confirmed.
    private func confirm(
        _ receiver: RangeReceiver, _ range: Range<UInt64>, _ key: ObjectKey, _ etag: ETag
    ) async throws(ProviderError) {
        var confirmed = try await confirmFirst(receiver, range, key, etag)
        let partBytes = max(Self.partBytesMin, UInt64(range.count) / 2)
        while confirmed < range.count {
            try await receiver.wait(for: min(confirmed + partBytes, UInt64(range.count)))
            confirmed = receiver.received
            try await expect(etag, of: key)
            receiver.confirm(range.lowerBound..<range.lowerBound + confirmed)
        }
    }

    /// Confirms the first part of a range as soon as the server has opened the version, if the tag in the
    /// answer can show that.
    ///
    /// - Returns: Its length.
    private func confirmFirst(
        _ receiver: RangeReceiver, _ range: Range<UInt64>, _ key: ObjectKey, _ etag: ETag
    ) async throws(ProviderError) -> UInt64 {
        guard WebDAVVersion.etag(in: etag) != nil else { return 0 }
        if range.count > Self.partBytesMin {
            // The request may wait for a place, or for a connection.
            try await receiver.wait(for: 1)
        } else {
            try await receiver.waitForAnswer(atMost: Self.openTime, on: lookup.clock)
        }
        try await expect(etag, of: key)
        try await receiver.wait(for: 1)
        guard receiver.isVouched else { return 0 }
        let count = min(Self.partBytesMin, UInt64(range.count))
        receiver.confirm(range.lowerBound..<range.lowerBound + count)
        return count
    }

    private func receive(
        _ receiver: RangeReceiver, _ key: ObjectKey, _ headers: [(name: String, value: String)]
    ) async throws(ProviderError) {
        // The transport learns of a cancellation later than of bytes that have already arrived.
        let result = await withTaskCancellationHandler {
            () async -> Result<HTTPResponse, TransportError> in
            do throws(TransportError) {
                return .success(
                    try await lookup.client.send(
                        .get, lookup.client.address.url(key), headers: headers,
                        answerBytes: receiver.wanted,
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
        guard receiver.isWhole else {
            throw ProviderError(
                .corrupt, "only \(receiver.received) of \(receiver.wanted) bytes arrived")
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
        /// The received bytes at which ``progress`` is notified.
        var awaited: UInt64 = .max
        var hasTag = false
        var isVouched = false
        var isCancelled = false
        var end: End?
        var refusal: [UInt8] = []
    }

    private let range: Range<UInt64>
    private let etag: ETag
    private let isConditional: Bool
    private let sink: any ByteSink
    private let state = Mutex(State())
    private let progress = Signal()

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
    /// Whether the header of the answer names the version by a strong entity tag.
    var isVouched: Bool { state.withLock { $0.isVouched } }
    var end: End? { state.withLock { $0.end } }
    var refusal: [UInt8] { state.withLock { $0.refusal } }

    func cancel() {
        state.withLock { $0.isCancelled = true }
    }

    /// Tells the sink that some of the bytes are of the requested version.
    func confirm(_ range: Range<UInt64>) { sink.confirm(range) }

    /// Returns once `count` bytes have been received.
    func wait(for count: UInt64) async throws(ProviderError) {
        while true {
            let notifications = progress.notifications
            if isReceived(count) { return }
            await progress.wait(after: notifications)
            try throwIfCancelled()
        }
    }

    /// Returns once the first bytes have been received, or `limit` has passed.
    func waitForAnswer(atMost limit: Duration, on clock: any Clock) async throws(ProviderError) {
        let notifications = progress.notifications
        if isReceived(1) { return }
        await progress.wait(after: notifications, until: clock.uptime + limit, on: clock)
        try throwIfCancelled()
    }

    private func isReceived(_ count: UInt64) -> Bool {
        state.withLock { state in
            state.awaited = count
            return state.received >= count
        }
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
        let isAwaited = state.withLock { state in
            let before = state.received
            state.received += UInt64(wanted.count)
            return before < state.awaited && state.awaited <= state.received
        }
        if isAwaited { progress.notify() }
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
            guard content != nil else {
                throw .refused(.corrupt, "the server does not say which range it sent")
            }
        case 200: content = nil
        default: throw .refused(.corrupt, "the server answered \(response.status) to a GET")
        }
        let size =
            content == nil ? headers["Content-Length"].flatMap { UInt64($0) } : content?.total
        let version = WebDAVVersion(
            etag: headers["ETag"], lastModified: headers["Last-Modified"], size: size)
        state.hasTag = version.etag != nil
        state.isVouched = !version.isWeak && WebDAVVersion.etag(in: etag) != nil
        guard version.canBe(etag) else {
            throw .refused(.changed, "it is version \(version.etag ?? "unknown") now")
        }
        // A shorter version has a shorter range.
        if let content, content.range != range {
            throw .refused(.corrupt, "the server sent another range than requested")
        }
        if let size, size < range.upperBound {
            throw .refused(.corrupt, "it has only \(size) bytes")
        }
        return content == nil ? range.lowerBound : 0
    }
}
