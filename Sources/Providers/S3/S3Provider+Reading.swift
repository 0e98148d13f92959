package import Engine
import Transport

extension S3Provider {
    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let attempt = "read \(range.count) bytes at \(range.lowerBound) of \"\(key)\""
        try S3Failure.checkCancelled(attempt)
        guard let file = tree.keys.place(of: key).file else {
            throw S3Failure.isDirectory(attempt)
        }
        var call = S3Client.Call(.get, file)
        call.headers = [
            ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"),
            S3Condition.version(etag).header,
        ]
        if range.lowerBound == 0 { call.headers.append(("x-amz-checksum-mode", "ENABLED")) }
        call.answerBytes = UInt64(range.count)
        var taker = S3ReadSink(range: range, etag: etag, into: sink)
        do throws(ProviderError) {
            let response = try await tree.client.perform(call, attempt) { _ in
                taker = S3ReadSink(range: range, etag: etag, into: sink)
                return taker
            }
            do throws(S3AnswerProblem) {
                try taker.finish(response)
            } catch {
                throw ProviderError(error.kind, attempt: attempt, reason: error.reason)
            }
            // A listing does not distinguish links from files.
            if S3Head(response.headers).metadata.isSymlink, try await stat(key).kind == .symlink {
                throw ProviderError(
                    .wrongKind, attempt: attempt, reason: "it is a symbolic link")
            }
        } catch {
            guard error.kind == .missing || error.refusal?.status == 416 else { throw error }
            if error.refusal?.status == 416 { throw S3Failure.changed(attempt) }
            // A directory has no object with this key either.
            guard try await tree.node(at: key, attempt)?.kind == .directory else { throw error }
            throw S3Failure.isDirectory(attempt)
        }
    }
}
