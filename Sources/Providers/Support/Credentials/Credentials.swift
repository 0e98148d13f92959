/// Authenticates the user to a store. Its value is never shown.
package enum Credentials: Hashable, Sendable {
    case password(user: String, Secret)
    case bearer(Secret)
}

/// A text that is not shown in any description, dump or log.
package struct Secret: Hashable, Sendable {
    /// The secret, only for the request that needs it.
    package let revealed: String

    package init(_ text: String) {
        revealed = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
