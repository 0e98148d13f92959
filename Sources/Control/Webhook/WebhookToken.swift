import Foundation
import SystemCalls

/// The secret by which a store's notifications are known to be genuine.
package struct WebhookToken: Sendable {
    private let text: String

    /// Shorter ones could be guessed.
    package static let bytesMin = 16

    /// - Parameter text: At least ``bytesMin`` bytes of printable ASCII without blanks; white space around
    ///   them does not count.
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard trimmed.utf8.count >= Self.bytesMin,
            trimmed.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        self.text = trimmed
    }

    /// Whether an `Authorization` header has this token: as a bearer token, or as the password of any
    /// user. Takes the same time for each wrong token of one length.
    func isIn(authorization: String?) -> Bool {
        guard let given = authorization.flatMap(Self.secret) else { return false }
        return SecretText.isEqual(given, text)
    }

    private static func secret(in authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        switch parts[0].lowercased() {
        case "bearer": return String(parts[1])
        case "basic":
            guard let data = Data(base64Encoded: String(parts[1])) else { return nil }
            return String(decoding: data, as: UTF8.self).split(separator: ":", maxSplits: 1)
                .dropFirst().first.map(String.init)
        default: return nil
        }
    }
}
