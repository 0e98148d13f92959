import Digests
import Engine
import ProviderSupport
import SystemCalls

/// Signature Version 4: proves the identity of the client with each request, without sending the
/// secret.
struct S3Signer: Sendable {
    let accessKey: String
    let secretKey: String
    let region: String
    var service = "s3"

    /// The signed parts of a request.
    struct Request: Sendable {
        var method: String
        /// Percent-encoded, as it is sent.
        var path: String
        /// Not encoded.
        var query: [(name: String, value: String)] = []
        /// Including `host`, and all that must not be changed on the way.
        var headers: [(name: String, value: String)]
        /// SHA-256 of the body in hexadecimal.
        var payloadHash: String
    }

    static let emptyHash = hash([])

    static func hash(_ bytes: [UInt8]) -> String {
        Hexadecimal.encode(SHA256.hash(data: bytes))
    }

    func authorization(_ request: Request, at time: Timestamp) -> String {
        let signature = signature(of: stringToSign(request, at: time), at: time)
        return "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope(time)),"
            + "SignedHeaders=\(signedHeaders(request)),Signature=\(signature)"
    }

    func canonicalRequest(_ request: Request) -> String {
        let headers = canonicalHeaders(request).map { "\($0.name):\($0.value)\n" }.joined()
        return [
            request.method, request.path, Self.canonicalQuery(request.query), headers,
            signedHeaders(request), request.payloadHash,
        ].joined(separator: "\n")
    }

    func stringToSign(_ request: Request, at time: Timestamp) -> String {
        let hash = Self.hash(Array(canonicalRequest(request).utf8))
        return "AWS4-HMAC-SHA256\n\(Self.date(time))\n\(scope(time))\n\(hash)"
    }

    func signature(of text: String, at time: Timestamp) -> String {
        let steps = [Self.day(time), region, service, "aws4_request", text]
        let key = steps.reduce(Array("AWS4\(secretKey)".utf8)) { key, step in
            SHA256.authenticationCode(for: Array(step.utf8), key: key)
        }
        return Hexadecimal.encode(key)
    }

    /// The query as in the URL: sorted, encoded, each name with `=`.
    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentCoding.encode($0.name), PercentCoding.encode($0.value)) }
            .sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    private func scope(_ time: Timestamp) -> String {
        "\(Self.day(time))/\(region)/\(service)/aws4_request"
    }

    /// The time as signed: `20130524T000000Z`.
    static func date(_ time: Timestamp) -> String { time.utc("%Y%m%dT%H%M%SZ") }

    private static func day(_ time: Timestamp) -> String { time.utc("%Y%m%d") }

    private func signedHeaders(_ request: Request) -> String {
        canonicalHeaders(request).map(\.name).joined(separator: ";")
    }

    private func canonicalHeaders(_ request: Request) -> [(name: String, value: String)] {
        request.headers.map { (name: $0.name.lowercased(), value: Self.collapsed($0.value)) }
            .sorted { $0.name < $1.name }
    }

    /// Removes blanks at the ends and repeated ones.
    private static func collapsed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}
