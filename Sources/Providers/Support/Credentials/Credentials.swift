/// The credentials for a store. Descriptions do not reveal them.
package enum Credentials: Hashable, Sendable {
    case password(user: String, Secret)
    case bearer(Secret)
}

/// A text that no description, dump or log shows.
package struct Secret: Hashable, Sendable {
    /// For the request that needs it, and nothing else.
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
