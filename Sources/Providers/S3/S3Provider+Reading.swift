package import Engine
import Transport

extension S3Provider {
    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let attempt = "read \(range.count) bytes at \(range.lowerBound) of \"\(key)\""
        try checkCancelled(attempt)
        guard let file = keys.place(of: key).file else {
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
        }
        var call = S3Client.Call(.get, file)
        call.headers = [
            ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"),
            S3Condition.version(etag).header,
        ]
        if range.lowerBound == 0 { call.headers.append(("x-amz-checksum-mode", "ENABLED")) }
        call.answerBytes = UInt64(range.count)
        call.onProgress = { _, received in
            if received == 0 { sink.noteWaiting() }
        }
        var taker = S3ReadSink(range: range, etag: etag, into: sink)
        do throws(ProviderError) {
            let response = try await client.perform(call, attempt) { _ in
                taker = S3ReadSink(range: range, etag: etag, into: sink)
                return taker
            }
            do throws(S3AnswerProblem) {
                try taker.finish(response)
            } catch {
                throw ProviderError(error.kind, attempt: attempt, reason: error.reason)
            }
            // A listing does not tell links from files.
            if S3Head(response.headers).metadata.isSymlink, try await stat(key).kind == .symlink {
                throw ProviderError(
                    .wrongKind, attempt: attempt, reason: "it is a symbolic link")
            }
        } catch {
            guard error.kind == .missing || error.refusal?.status == 416 else { throw error }
            if error.refusal?.status == 416 { throw changed(attempt) }
            // A directory has no object of this key either.
            guard try await look(key, attempt)?.kind == .directory else { throw error }
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
        }
    }
}
