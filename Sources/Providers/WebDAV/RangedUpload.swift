import Engine
import ProviderSupport
import Transport

/// Ranges sent side by side to a temporary name by PUT with `Content-Range` (RFC 9110, 14.5), then a MOVE.
/// The ranges are written in place, so that an upload continues after a lost connection or a restart.
struct RangedUpload: WebDAVStrategy {
    let staging: WebDAVStaging
    let storedRanges: StoredRanges
    /// The bytes of one PUT; proxies have limits of 100 MB and more.
    let rangeBytes: UInt64

    private static let rangesAtOnce = 8
    /// The unit of continuation within a range.
    private static let blockBytes: UInt64 = 1 << 20

    private var sender: WebDAVSender { staging.sender }
    private var client: WebDAVClient { sender.lookup.client }
    private var clock: any Clock { sender.lookup.clock }

    /// A failure leaves the bytes that have arrived for the next try.
    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        try await sender.expectBase(of: upload)
        var (staged, size) = try await start(upload)
        var ranges = ranges(of: upload)
        do throws(ProviderError) {
            let stored = try await sender.putDistinct(upload, at: staged, []) {
                _ async throws(ProviderError) in
                try await send(ranges, of: upload, to: staged, ofSize: size)
                // Another version tag takes another write.
                ranges = [(upload.size - 1) / Self.blockBytes * Self.blockBytes..<upload.size]
                size = 0
                return nil
            }
            let object = try await staging.publish(staged, stored, upload)
            storedRanges.forget(staged)
            return object
        } catch {
            if upload.isOver(after: error) {
                storedRanges.forget(staged)
                await staging.abandon(staged, of: upload)
            }
            throw error
        }
    }

    /// Continues the upload that the session kept, or starts a new one.
    ///
    /// - Returns: The staged file, and its size.
    private func start(
        _ upload: WebDAVUpload
    ) async throws(ProviderError) -> (staged: ObjectKey, size: UInt64) {
        if let token = upload.session.token {
            let staged = staging.file(token, of: upload.key)
            if let staged, let entry = try await sender.lookup.entry(at: staged),
                !entry.isCollection, let size = entry.size, size <= upload.size
            {
                return (staged, size)
            }
            if let staged { storedRanges.forget(staged) }
            try? await staging.abandon(token, of: upload.key)
        }
        let staged = try staging.start(upload)
        // The file has to exist: if such a PUT is interrupted, Apache removes a file that it created.
        let answer = try await client.send(
            .put, client.address.url(staged), headers: [("If-None-Match", "*")], body: .bytes([]))
        guard answer.isSuccess else { throw await sender.refusal(answer, of: upload) }
        return (staged, 0)
    }

    private func ranges(of upload: WebDAVUpload) -> [Range<UInt64>] {
        stride(from: 0, to: upload.size, by: Int(rangeBytes)).map { start in
            start..<min(start + rangeBytes, upload.size)
        }
    }

    /// Sends the bytes of some ranges that a staged file lacks.
    ///
    /// Bytes below its end are read back: ranges arrive side by side, and a server that loses power
    /// may have stored any of them, so that the size of its file proves nothing. The ranges that no
    /// earlier try has completed come first, so that an upload gets further however often it is interrupted.
    ///
    /// - Throws: `.corrupt` if the staged file is gone: its missing bytes would become zeros.
    private func send(
        _ ranges: [Range<UInt64>], of upload: WebDAVUpload, to staged: ObjectKey,
        ofSize size: UInt64
    ) async throws(ProviderError) {
        let others = ranges.reduce(upload.size) { $0 - UInt64($1.count) }
        let underWay = UInt64(Self.rangesAtOnce) * rangeBytes
        // An estimate: ranges begin in their order at first.
        let progress = PartsProgress(
            upload.session, already: others, atLeast: size - min(underWay, size))
        let known = storedRanges.begin(staged)
        let new = ranges.filter { $0.lowerBound >= size }
        let begun = ranges.filter { $0.lowerBound < size }
        let ordered =
            new + begun.filter { !known.answered.contains($0) }
            + begun.filter(known.answered.contains)
        // Refusals are answered before many bytes are sent in vain.
        let approved = Set(new.dropFirst(Self.rangesAtOnce))
        try await concurrently(ordered, atMost: Self.rangesAtOnce) {
            range async throws(ProviderError) in
            if range.upperBound <= size, known.stored.contains(range) {
                return progress.note(part: range.lowerBound, UInt64(range.count))
            }
            let start = clock.uptime
            try await complete(
                range, of: upload, at: staged, ofSize: size,
                awaitsApproval: !approved.contains(range), progress)
            storedRanges.note(range, of: staged, from: start, until: clock.uptime)
        } result: { _ in
        }
    }

    /// Sends the bytes of one range that a staged file lacks.
    private func complete(
        _ range: Range<UInt64>, of upload: WebDAVUpload, at staged: ObjectKey, ofSize size: UInt64,
        awaitsApproval: Bool, _ progress: PartsProgress
    ) async throws(ProviderError) {
        let count = try await arrived(range.clamped(to: 0..<size), of: upload, at: staged)
        let isWhole = count == range.count
        let kept = isWhole ? count : count / Self.blockBytes * Self.blockBytes
        progress.note(part: range.lowerBound, kept)
        if isWhole { return }
        try await put(
            range.dropFirst(Int(kept)), of: upload, to: staged, awaitsApproval: awaitsApproval
        ) { progress.note(part: range.lowerBound, kept + $0) }
    }

    /// Returns the number of bytes from the start of a range that the staged file has.
    private func arrived(
        _ range: Range<UInt64>, of upload: WebDAVUpload, at staged: ObjectKey
    ) async throws(ProviderError) -> UInt64 {
        if range.isEmpty { return 0 }
        let comparison = RangeComparison(range, of: upload.source)
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await client.send(
                .get, client.address.url(staged), headers: [("Range", "bytes=\(range.text)")],
                answerBytes: UInt64(range.count), into: comparison)
        } catch {
            guard error.kind == .sink else { throw ProviderError(error, invalid: .corrupt) }
            if let failure = comparison.failure {
                throw ProviderError(
                    .source, "the bytes cannot be read: \(failure)", cause: failure)
            }
            return comparison.count
        }
        // A file that is gone, or shorter by now, lacks the range.
        guard (200..<300).contains(response.status) || [404, 410, 416].contains(response.status)
        else { throw client.answer(response, []).failure }
        return comparison.count
    }

    private func put(
        _ range: Range<UInt64>, of upload: WebDAVUpload, to staged: ObjectKey,
        awaitsApproval: Bool, onProgress: @escaping @Sendable (_ sent: UInt64) -> Void
    ) async throws(ProviderError) {
        let answer = try await client.send(
            .put, client.address.url(staged),
            headers: [
                ("Content-Range", "bytes \(range.text)/\(upload.size)"), ("If-Match", "*"),
                ("Content-Type", "application/octet-stream"),
            ],
            body: HTTPBody(upload.source, range), awaitsApproval: awaitsApproval,
            // The server may have lost power, and with it ranges that it had acknowledged.
            mayRepeatBody: false,
            onProgress: { sent, _ in onProgress(min(sent, UInt64(range.count))) })
        if answer.status == 412 {
            throw ProviderError(.corrupt, "the bytes that had arrived are gone")
        }
        guard answer.isSuccess else { throw await sender.refusal(answer, of: upload) }
    }
}

extension Range<UInt64> {
    /// `0-99`, RFC 9110, 14.1.2.
    fileprivate var text: String { "\(lowerBound)-\(upperBound - 1)" }
}
