import Engine
import ProviderSupport
import Transport

/// Reads ranges of files.
struct WebDAVReader: Sendable {
    let lookup: WebDAVLookup

    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try throwIfCancelled()
        let condition = lookup.conditions.ifMatch(etag)
        let receiver = RangeReceiver(range, of: etag, into: sink)
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
            guard error.kind == .sink else { throw WebDAVClient.failure(error) }
            switch receiver.end {
            case .enough: return
            case .refused(let kind, let reason): throw ProviderError(kind, reason)
            case nil: throw WebDAVClient.failure(error)
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
