import Engine
import ProviderSupport
import Transport

extension S3Client {
    /// Returns the version in the answer to a change.
    ///
    /// - Throws: `.corrupt` if there is none: the change was made, but its outcome is unknown.
    static func etag(of response: HTTPResponse) throws(ProviderError) -> ETag {
        let etag = S3ETag.etag(response.headers["etag"] ?? "")
        guard !etag.description.isEmpty else { throw withoutETag }
        return etag
    }

    static var withoutETag: ProviderError {
        ProviderError(
            .corrupt, "the store tells no ETag, without which versions cannot be told apart",
            remedy: "check the proxy before the store, which may remove the header")
    }

    /// Parses the answer to a long-running change, whose status is sent before the outcome is known.
    func parseAnswer(_ body: [UInt8]) throws(ProviderError) -> S3Element {
        let root = try parse(body) { $0 }
        guard root.name == "Error" else { return root }
        let message = String((root.text("Message") ?? "").prefix(300))
        throw S3Refusal(status: 500, code: root.text("Code") ?? "", message: message).error()
    }

    /// Sends a change and returns a text of the answer.
    ///
    /// - Parameter problem: The message if the answer lacks it.
    func ask(
        _ call: Call, for name: String, _ problem: String
    ) async throws(ProviderError) -> String {
        let text = try parseAnswer(try await ask(call).body).text(name) ?? ""
        guard !text.isEmpty else { throw ProviderError(.corrupt, problem) }
        return text
    }

    func parse<Value>(
        _ body: [UInt8],
        _ read: (S3Element) throws(XMLError) -> Value
    ) throws(ProviderError) -> Value {
        do {
            return try read(S3Element(parsing: body))
        } catch {
            throw ProviderError(
                .corrupt, "the store's answer cannot be read: \(error)", cause: error)
        }
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }
}
