import Engine
import Synchronization
import Transport

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
