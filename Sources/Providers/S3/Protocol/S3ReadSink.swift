import Engine
import ProviderSupport
import Synchronization
import Transport

/// Passes on the bytes of one range of one version, and refuses anything else.
final class S3ReadSink: S3Sink {
    private struct State {
        var received: UInt64 = 0
        var refusal: [UInt8] = []
        var isChecked = false
        /// For a whole object, if the store keeps a checksum of it.
        var sum: S3Checksum?
        var expected: String?
    }

    private let range: Range<UInt64>
    private let etag: ETag
    private let sink: any ByteSink
    private let state = Mutex(State())

    private static let refusalBytesMax = 64 << 10

    init(range: Range<UInt64>, etag: ETag, into sink: any ByteSink) {
        self.range = range
        self.etag = etag
        self.sink = sink
    }

    var refusal: [UInt8] { state.withLock { $0.refusal } }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        guard response.isSuccess else {
            state.withLock { state in
                let room = Self.refusalBytesMax - state.refusal.count
                state.refusal.append(contentsOf: bytes.prefix(max(0, room)))
            }
            return
        }
        var isConfirmed = false
        let offset = try state.withLock { state in
            if !state.isChecked {
                isConfirmed = try check(response, &state)
                state.isChecked = true
            }
            let offset = range.lowerBound + state.received
            guard UInt64(bytes.count) <= range.upperBound - offset else {
                throw S3AnswerProblem(
                    kind: .corrupt, reason: "the store sent more bytes than asked for")
            }
            state.received += UInt64(bytes.count)
            state.sum?.update(bytes)
            return offset
        }
        if isConfirmed { sink.confirm(range) }
        do {
            try sink.write(bytes, at: offset)
        } catch {
            throw S3AnswerProblem(
                kind: .sink, reason: "the bytes were refused: \(error)", cause: error)
        }
    }

    /// Checks that all bytes came and that they match the checksum.
    func finish(_ response: HTTPResponse) throws(S3AnswerProblem) {
        let state = state.withLock { $0 }
        guard state.received == UInt64(range.count) else {
            throw S3AnswerProblem(
                kind: .corrupt, reason: "\(state.received) of \(range.count) bytes came")
        }
        guard let sum = state.sum, let expected = state.expected else { return }
        guard sum.text == expected else {
            throw S3AnswerProblem(
                kind: .corrupt, reason: "the bytes do not have the checksum that the store keeps")
        }
    }

    /// Checks the header.
    ///
    /// - Returns: Whether it confirms the version, so that nothing is left to be checked at the end.
    private func check(
        _ response: HTTPResponse, _ state: inout State
    ) throws(S3AnswerProblem) -> Bool {
        if let text = response.headers["etag"], S3ETag.etag(text) != etag {
            throw S3AnswerProblem(
                kind: .changed, reason: "it is version \(S3ETag.etag(text)), not \(etag)")
        }
        var total: UInt64?
        if response.status == 206 {
            guard let content = response.headers["content-range"].flatMap(ContentRange.init),
                content.range == range
            else {
                throw S3AnswerProblem(kind: .corrupt, reason: "the store sent another range")
            }
            total = content.total
        } else {
            // A store without support for ranges sends the whole object.
            guard range.lowerBound == 0 else {
                throw S3AnswerProblem(kind: .corrupt, reason: "the store sent no range")
            }
            total = response.headers["content-length"].flatMap { UInt64($0) }
        }
        if range.lowerBound == 0, total == range.upperBound,
            let kept = S3Checksum.kept(of: response.headers, etag: etag)
        {
            (state.sum, state.expected) = kept
            return false
        }
        // A listing does not distinguish links from files.
        return response.headers["etag"] != nil && !S3Head(response.headers).metadata.isSymlink
    }
}
