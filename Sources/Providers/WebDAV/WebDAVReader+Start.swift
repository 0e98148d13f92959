import Engine
import ProviderSupport
import Synchronization
import Transport

extension WebDAVReader {
    /// How long bytes are waited for after the answer to the look, which took a while itself.
    private static func patience(after duration: Duration) -> Duration {
        min(max(duration, .milliseconds(50)), .milliseconds(200))
    }

    /// Looks at an object, and reads the first bytes of a file beside that. As for other reads, the look
    /// begins once the server has opened the file, so that it shows the version of these bytes.
    ///
    /// - Parameter count: The number of bytes, at most.
    /// - Throws: As ``WebDAVLookup/object(at:)``.
    func start(of key: ObjectKey, bytes count: Int) async throws(ProviderError) -> ObjectStart {
        let (clock, receiver) = (lookup.clock, StartReceiver(bytesMax: count))
        let result = await withTaskGroup(of: Void.self) {
            group -> Result<ObjectStart, ProviderError> in
            group.addTask { await receive(receiver, key) }
            defer { group.cancelAll() }
            do throws(ProviderError) {
                await receiver.end.wait(after: 0, until: clock.uptime + Self.openTime, on: clock)
                let begin = clock.uptime
                let object = try await lookup.object(at: key)
                guard object.kind == .file, object.size > 0 else {
                    return .success(ObjectStart(object: object, bytes: []))
                }
                // The program is likely to read them: the same time again is less than a new request.
                let now = clock.uptime
                await receiver.end.wait(
                    after: 0, until: now + Self.patience(after: now - begin), on: clock)
                let bytes = receiver.bytes(of: object, sharesTags: lookup.server.sharesTags)
                return .success(ObjectStart(object: object, bytes: bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// A refusal, of a directory for example, or a failure means that there are no bytes.
    private func receive(_ receiver: StartReceiver, _ key: ObjectKey) async {
        let headers = [("Range", "bytes=0-\(receiver.bytesMax - 1)")]
        _ = try? await lookup.client.send(
            .get, lookup.client.address.url(key), headers: headers,
            answerBytes: UInt64(receiver.bytesMax), into: receiver)
        receiver.end.notify()
    }
}

/// Collects the first bytes of a file, and their version.
final class StartReceiver: HTTPBodySink {
    private struct Enough: Error {}

    private struct State {
        var bytes: [UInt8] = []
        var response: HTTPResponse?
    }

    let bytesMax: Int
    /// Notified once nothing more comes.
    let end = Signal()
    private let state = Mutex(State())

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        guard response.status == 206 || response.status == 200 else { return }
        try state.withLock { state in
            state.response = response
            // The server may send the whole file.
            let isEnough = bytes.count > bytesMax - state.bytes.count
            state.bytes += bytes.prefix(bytesMax - state.bytes.count)
            if isEnough { throw Enough() }
        }
    }

    /// Returns the bytes if they are all that was asked for, and certain to be of an object's version.
    ///
    /// - Parameter sharesTags: Whether two files may have the same entity tag. One may then have replaced
    ///   the other since the server has opened it, unless it has had its name for longer.
    func bytes(of object: RemoteObject, sharesTags: Bool) -> [UInt8] {
        let state = state.withLock { $0 }
        guard let response = state.response, let etag = object.etag,
            state.bytes.count == min(bytesMax, Int(clamping: object.size)),
            ["identity", nil].contains(response.headers["Content-Encoding"]?.lowercased())
        else { return [] }
        let content = response.headers["Content-Range"].flatMap(ContentRange.init)
        if response.status == 206, content?.range != 0..<UInt64(state.bytes.count) { return [] }
        let size =
            response.status == 206
            ? content?.total : response.headers["Content-Length"].flatMap { UInt64($0) }
        let version = WebDAVVersion(
            etag: response.headers["ETag"], lastModified: response.headers["Last-Modified"],
            size: size)
        let isVouched = !version.isWeak && WebDAVVersion.etag(in: etag) != nil
        guard isVouched, version.canBe(etag), size == nil || size == object.size,
            !sharesTags || Self.isOlder(etag, than: response)
        else { return [] }
        return state.bytes
    }

    /// Whether a file certainly had its name before the server answered. Both times count seconds.
    private static func isOlder(_ etag: ETag, than response: HTTPResponse) -> Bool {
        guard let created = WebDAVVersion.created(in: etag).flatMap(Timestamp.init(rfc3339:)),
            let answered = response.headers["Date"].flatMap(Timestamp.init(httpDate:))
        else { return false }
        return created.seconds + 2 <= answered.seconds
    }
}
