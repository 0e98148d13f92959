/// What became of a conflict.
package struct ResolveReport: Codable, Hashable, Sendable {
    /// The version that has the original name now; where both were kept, the one made here.
    package var path: String

    package init(path: String) {
        self.path = path
    }
}

struct ResolveBody: Codable {
    var path: String
    var keep: String
}
