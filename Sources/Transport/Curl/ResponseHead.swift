/// The status and header of an answer, and their meaning for the transfer.
struct ResponseHead {
    /// Refusals that libcurl answers by asking again: with credentials, or without `Expect`.
    private static let preliminary = [401, 407, 417]

    private var reader = HeaderReader()
    /// The answer whose body follows, once its header is complete.
    private(set) var response: HTTPResponse?
    /// Increased by each ``response``: libcurl may ask again by itself.
    private(set) var answerCount = 0
    /// ``answerCount`` when libcurl last asked again.
    private var answersAtRepetition = 0
    /// The request to send instead, if ``response`` is a redirect to follow.
    private(set) var next: HTTPRequest?
    /// The time of ``response``; nil for an answer after which libcurl may ask again by itself.
    private(set) var answeredAt: ContinuousClock.Instant?

    /// The status of a refusal, whose body may be cut short.
    var refusal: Int? { refusedAt == nil ? nil : response?.status }

    var refusedAt: ContinuousClock.Instant? {
        (response?.status ?? 0) >= 300 ? answeredAt : nil
    }

    /// Records that libcurl asks again.
    ///
    /// - Returns: Whether an answer made it do so, and not the loss of the connection.
    mutating func noteRepetition() -> Bool {
        defer { answersAtRepetition = answerCount }
        return answerCount > answersAtRepetition
    }

    mutating func read(_ line: UnsafeRawBufferPointer) -> HeaderReader.Progress {
        reader.read(line)
    }

    /// Evaluates a complete header.
    ///
    /// - Parameter status: An interim one (below 200) has no meaning.
    mutating func complete(
        status: Int, for request: HTTPRequest, at now: ContinuousClock.Instant
    ) {
        guard status >= 200 else { return }
        let response = HTTPResponse(status: status, headers: reader.headers)
        self.response = response
        answerCount += 1
        answeredAt = Self.preliminary.contains(status) ? nil : now
        next = Redirect.next(after: response, to: request)
    }
}
