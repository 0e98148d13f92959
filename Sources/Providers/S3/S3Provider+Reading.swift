package import Engine
import Transport

extension S3Provider {
    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try S3Failure.checkCancelled()
        guard let file = tree.keys.place(of: key).file else {
            throw S3Failure.isDirectory
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
            let response = try await tree.client.perform(call) { _ in
                taker = S3ReadSink(range: range, etag: etag, into: sink)
                return taker
            }
            do throws(S3AnswerProblem) {
                try taker.finish(response)
            } catch {
                throw ProviderError(error.kind, error.reason)
            }
            // A listing does not distinguish links from files.
            if S3Head(response.headers).metadata.isSymlink, try await stat(key).kind == .symlink {
                throw ProviderError(.wrongKind, "it is a symbolic link")
            }
        } catch {
            guard error.kind == .missing || error.refusal?.status == 416 else { throw error }
            if error.refusal?.status == 416 { throw S3Failure.changed }
            // A directory has no object with this key either.
            guard try await tree.node(at: key)?.kind == .directory else { throw error }
            throw S3Failure.isDirectory
        }
    }
}
