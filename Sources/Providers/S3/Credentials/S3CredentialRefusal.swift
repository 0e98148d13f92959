import Foundation
import ProviderSupport

/// The answer of a server that gives no credentials: XML from STS, JSON from containers and machines.
struct S3CredentialRefusal {
    /// `InvalidIdentityToken`; empty if the answer has none.
    let code: String
    private let message: String

    init(_ body: [UInt8]) {
        let words: (code: String?, message: String?)
        if let root = try? S3Element(parsing: body) {
            let error = root["Error"]
            words = (error?.text("Code"), error?.text("Message"))
        } else {
            let said = try? JSONDecoder().decode(Words.self, from: Data(body))
            words = (said?.code ?? said?.Code, said?.message ?? said?.Message)
        }
        code = ForeignWords.line(words.code ?? "", charactersMax: 100)
        message = ForeignWords.line(words.message ?? "", charactersMax: 300)
    }

    private struct Words: Decodable {
        let code: String?
        let message: String?
        let Code: String?
        let Message: String?
    }

    /// Message and code; nil if there is neither.
    var description: String? {
        if code.isEmpty { return message.isEmpty ? nil : message }
        return message.isEmpty ? code : "\(message) (\(code))"
    }
}
