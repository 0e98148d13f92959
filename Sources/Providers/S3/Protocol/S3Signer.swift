import Digests
import Engine
import ProviderSupport
import Synchronization
import SystemCalls

/// Signature Version 4: proves the identity of the client with each request, without sending the
/// secret.
struct S3Signer: Sendable {
    let accessKey: String
    let secretKey: String
    let region: String
    var service = "s3"

    /// Keeps the key of the day, which takes four of the five steps of a signature; nil to derive it
    /// each time.
    var keys: S3SigningKeys?

    /// The signed parts of a request.
    struct Request: Sendable {
        let method: String
        /// Percent-encoded, as it is sent.
        let path: String
        /// Not encoded.
        let query: [(name: String, value: String)]
        /// In lower case and order, without superfluous blanks.
        let headers: [(name: String, value: String)]
        /// SHA-256 of the body in hexadecimal.
        let payloadHash: String
        let headerNames: String

        /// - Parameter headers: Including `host`, and all that must not be changed on the way.
        init(
            method: String, path: String, query: [(name: String, value: String)] = [],
            headers: [(name: String, value: String)], payloadHash: String
        ) {
            (self.method, self.path, self.query) = (method, path, query)
            self.headers = headers.map { ($0.name.lowercased(), S3Signer.collapsed($0.value)) }
                .sorted { $0.name < $1.name }
            headerNames = self.headers.map(\.name).joined(separator: ";")
            self.payloadHash = payloadHash
        }
    }

    static let emptyHash = hash([])

    static func hash(_ bytes: [UInt8]) -> String {
        Hexadecimal.encode(SHA256.hash(data: bytes))
    }

    func authorization(_ request: Request, at time: Timestamp) -> String {
        let signature = signature(of: stringToSign(request, at: time), at: time)
        return "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope(on: Self.day(time))),"
            + "SignedHeaders=\(request.headerNames),Signature=\(signature)"
    }

    func canonicalRequest(_ request: Request) -> String {
        let headers = request.headers.map { "\($0.name):\($0.value)\n" }.joined()
        return [
            request.method, request.path, Self.canonicalQuery(request.query), headers,
            request.headerNames, request.payloadHash,
        ].joined(separator: "\n")
    }

    func stringToSign(_ request: Request, at time: Timestamp) -> String {
        let hash = Self.hash(Array(canonicalRequest(request).utf8))
        return "AWS4-HMAC-SHA256\n\(Self.date(time))\n\(scope(on: Self.day(time)))\n\(hash)"
    }

    func signature(of text: String, at time: Timestamp) -> String {
        let day = Self.day(time)
        let key = keys?.key(of: self, on: day) ?? signingKey(on: day)
        return Hexadecimal.encode(
            SHA256.authenticationCode(for: Array(text.utf8), key: key))
    }

    fileprivate func signingKey(on day: String) -> [UInt8] {
        [day, region, service, "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) { key, step in
            SHA256.authenticationCode(for: Array(step.utf8), key: key)
        }
    }

    /// The query as in the URL: sorted, encoded, each name with `=`.
    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentCoding.encode($0.name), PercentCoding.encode($0.value)) }
            .sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    fileprivate func scope(on day: String) -> String {
        "\(day)/\(region)/\(service)/aws4_request"
    }

    /// The time as signed: `20130524T000000Z`.
    static func date(_ time: Timestamp) -> String { time.utc("%Y%m%dT%H%M%SZ") }

    private static func day(_ time: Timestamp) -> String { time.utc("%Y%m%d") }

    /// Removes blanks at the ends and repeated ones.
    fileprivate static func collapsed(_ value: String) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        guard value.utf8.contains(where: isBlank) else { return value }
        return value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}

/// The key last derived from a secret.
final class S3SigningKeys: Sendable {
    private struct Entry {
        let secretKey: String
        let scope: String
        let key: [UInt8]
    }

    private let last = Mutex<Entry?>(nil)

    func key(of signer: S3Signer, on day: String) -> [UInt8] {
        let scope = signer.scope(on: day)
        return last.withLock { last in
            if let last, last.scope == scope, last.secretKey == signer.secretKey { return last.key }
            let key = signer.signingKey(on: day)
            last = Entry(secretKey: signer.secretKey, scope: scope, key: key)
            return key
        }
    }
}
