/// What a request has to share its places with: its like. The more urgent come first.
enum Lane: Int, CaseIterable {
    /// A question with a short answer, for which somebody mostly waits.
    case look
    /// A few bytes of a file, for which somebody mostly waits.
    case read
    /// Something that is soon said, though a server may think about it for long.
    case change
    /// A long piece of a file.
    case download
    /// A long body on its way out.
    case upload

    /// A body up to this length is gone in no time, however slow the line.
    private static let shortBodyBytesMax: UInt64 = 16 << 10
    /// The engine asks for more only where nobody waits for just these bytes.
    private static let shortAnswerBytesMax: UInt64 = 1 << 20

    init(_ request: HTTPRequest) {
        if request.body.byteCount > Self.shortBodyBytesMax {
            self = .upload
        } else if !request.method.isSafe {
            self = .change
        } else if request.answerBytes > Self.shortAnswerBytesMax {
            self = .download
        } else {
            self = request.answerBytes > 0 ? .read : .look
        }
    }

    /// How many requests of all lanes may be under way when one of this lane starts: each leaves
    /// some of the places to the more urgent ones.
    func room(within max: Int) -> Int { max - rawValue * (max / 8) }
}
