/// The result of a resolved conflict.
package struct ResolveReport: Codable, Hashable, Sendable {
    /// The path of the version that now has the original name; if both were kept, of the local one.
    package var path: String

    package init(path: String) {
        self.path = path
    }
}

struct ResolveBody: Codable {
    var path: String
    var keep: String
}
