import SystemCalls

/// The secret that the page's requests carry, so that no other program or site can use them.
package struct PageToken: Sendable {
    /// 64 hexadecimal digits; in the URL's fragment, which browsers send to no server.
    package let text: String

    /// Creates a random token, from the system's generator.
    package init() {
        text = Hexadecimal.encode((0..<32).map { _ in UInt8.random(in: .min ... .max) })
    }

    /// Whether an `Authorization` header has this token; takes the same time for each wrong token.
    func isIn(authorization: String?) -> Bool {
        SecretText.isEqual(authorization ?? "", "Bearer \(text)")
    }
}
