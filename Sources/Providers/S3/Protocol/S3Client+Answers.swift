import Engine
import Transport

extension S3Client {
    /// The version that an answer to a change tells.
    ///
    /// - Throws: `.corrupt` where it tells none: the change was made, and its outcome is to be found out.
    static func etag(
        of response: HTTPResponse, _ attempt: String
    ) throws(ProviderError) -> ETag {
        let etag = S3ETag.etag(response.headers["etag"] ?? "")
        guard !etag.description.isEmpty else { throw withoutETag(attempt) }
        return etag
    }

    static func withoutETag(_ attempt: String) -> ProviderError {
        ProviderError(
            .corrupt, attempt: attempt,
            reason: "the store tells no ETag, without which versions cannot be told apart",
            remedy: "check the proxy before the store, which may take the header away")
    }

    /// The answer to a change that goes on for long: its status came before its outcome.
    func parseAnswer(_ body: [UInt8], _ attempt: String) throws(ProviderError) -> S3Element {
        let root = try parse(body, attempt) { root throws(S3Element.Malformed) in root }
        guard root.name == "Error" else { return root }
        let message = String((root.text("Message") ?? "").prefix(300))
        throw S3Refusal(status: 500, code: root.text("Code") ?? "", message: message).error(attempt)
    }

    func parse<Value>(
        _ body: [UInt8], _ attempt: String,
        _ read: (S3Element) throws(S3Element.Malformed) -> Value
    ) throws(ProviderError) -> Value {
        do {
            return try read(S3Element(parsing: body))
        } catch {
            throw ProviderError(
                .corrupt, attempt: attempt,
                reason: "the store's answer cannot be read: \(error.reason)", cause: error)
        }
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }
}
