/// The kinds of requests that share places, the most urgent first.
enum Lane: Int, CaseIterable {
    /// A request with a short answer, for which a program usually waits.
    case metadata
    /// A few bytes of a file, for which a program usually waits.
    case read
    /// A change with a short body, though the server may need long to answer.
    case change
    /// A large part of a file.
    case download
    /// A request with a long body.
    case upload

    /// A body up to this length is sent quickly even over a slow connection.
    private static let shortBodyBytesMax: UInt64 = 16 << 10
    /// The engine reads more at once only if no program waits for just these bytes.
    private static let shortAnswerBytesMax: UInt64 = 1 << 20

    init(_ request: HTTPRequest) {
        if request.body.byteCount > Self.shortBodyBytesMax {
            self = .upload
        } else if !request.method.isSafe {
            self = .change
        } else if request.answerBytes > Self.shortAnswerBytesMax {
            self = .download
        } else {
            self = request.answerBytes > 0 ? .read : .metadata
        }
    }

    /// Returns how many requests of all lanes may be active when one of this lane starts, so that
    /// each lane leaves some places to the more urgent ones.
    ///
    /// - Parameter besidesQueries: Whether ``metadata`` is one of these lanes.
    func room(within max: Int, besidesQueries: Bool) -> Int {
        max - (besidesQueries ? rawValue : rawValue - 1) * (max / 8)
    }
}
