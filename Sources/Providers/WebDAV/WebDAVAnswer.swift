import Engine
import ProviderSupport
import Transport

/// An answer with a small body.
struct WebDAVAnswer: Sendable {
    let response: HTTPResponse
    let body: [UInt8]
    /// The time of its arrival.
    let time: Timestamp

    /// The status. Some servers wrap a refusal in a multistatus: then the worst one in it.
    var status: Int {
        guard response.status == 207 else { return response.status }
        let statuses = entries.flatMap { [$0.status, $0.worstPropertyStatus] }.compactMap(\.self)
        // 424 only says that another part of the request failed.
        return statuses.filter { $0 != 424 }.max() ?? statuses.max() ?? 207
    }

    var isSuccess: Bool { (200..<300).contains(status) }

    private var entries: [WebDAVEntry] {
        do throws(XMLError) {
            let parser = try MultistatusParser()
            try parser.feed(body)
            try parser.finish()
            return Array(parser.entries)
        } catch {
            // It is unreadable, so the outcome is unknown.
            return [WebDAVEntry(status: 502)]
        }
    }

    /// The refusal as an error of the provider contract.
    var failure: ProviderError {
        let kind: ProviderError.Kind
        switch status {
        case 401: kind = .unauthorized
        case 403: kind = .denied
        case 404, 409, 410: kind = .missing
        case 412, 416: kind = .changed
        case 408: kind = .unreachable
        // 424 stands for a lock below, for example of a client that died.
        case 423, 424, 425, 429, 503: kind = .busy
        case 507: kind = .full
        case 300..<500, 501, 505: kind = .unsupported
        case 200..<300: kind = .corrupt
        default: kind = .unreachable
        }
        return ProviderError(
            kind, reason, retryAfter: response.retryAfter(now: time.seconds))
    }

    /// The names of the authentication schemes that the server offers, such as `Basic`.
    private var schemes: [String] {
        let values = response.headers.all("WWW-Authenticate")
        let words = values.map { $0.prefix { $0.isASCII && $0.isLetter } }
        return words.filter { (1...20).contains($0.count) }.prefix(3).map(String.init)
    }

    private var reason: String {
        if (300..<400).contains(status), let location = response.headers["Location"] {
            let place = location.prefix { $0 != "?" }.prefix(200)
            return "the server redirects to \(place); mount that address instead"
        }
        if status == 401 {
            let ways = schemes.isEmpty ? "" : "; it accepts \(schemes.joined(separator: " or "))"
            return "the server refused the credentials\(ways)"
        }
        if status == 413 {
            return "the file is larger than the server's settings allow"
        }
        let words = ServerWords.find(in: body)
        return "the server answered \(status)" + (words.map { " (\($0))" } ?? "")
    }
}

/// Finds the reason that a refusal gives in its body: `message` of SabreDAV, or the condition in a
/// `DAV:error` (RFC 4918, 16).
private final class ServerWords: XMLPushParser.Handler {
    private static let charactersMax = 200

    private var path: [String] = []
    private var isError = false
    private var condition: String?
    private var message: [UInt8] = []

    static func find(in body: [UInt8]) -> String? {
        guard body.contains(UInt8(ascii: "<")) else { return nil }
        let words = ServerWords()
        // The part understood before an error is enough.
        do throws(XMLError) {
            try XMLPushParser(words).feed(body)
        } catch {}
        guard words.isError else { return nil }
        let text =
            words.message.isEmpty ? words.condition : String(decoding: words.message, as: UTF8.self)
        let line = ForeignWords.line(text ?? "", charactersMax: charactersMax)
        return line.isEmpty ? nil : line
    }

    func start(_ name: String, in space: String) throws(XMLError) {
        if path.isEmpty { isError = name == "error" }
        guard path.count < 8 else { throw XMLError("deep") }
        if path.count == 1, name != "message", name != "exception" { condition = condition ?? name }
        path.append(name)
    }

    func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(XMLError) {
        if path.last == "message", message.count < 4 * Self.charactersMax { message += bytes }
    }

    func end() throws(XMLError) {
        path.removeLast()
    }
}
