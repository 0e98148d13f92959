/// The result of a resolved conflict.
package struct ResolveReport: Codable, Hashable, Sendable {
    /// The path of the version that now has the original name; if both were kept, of the local one.
    package var path: String
    /// Whether the version that was given up is in the trash; nil if there was none, and from a daemon of an
    /// earlier version.
    package var isInTrash: Bool?

    package init(path: String, isInTrash: Bool? = nil) {
        self.path = path
        self.isInTrash = isInTrash
    }

    private enum CodingKeys: String, CodingKey {
        case path
        case isInTrash = "inTrash"
    }
}

struct ResolveBody: Codable {
    var path: String
    var keep: String
}
