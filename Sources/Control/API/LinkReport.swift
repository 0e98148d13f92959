/// A link that was made.
package struct LinkReport: Codable, Hashable, Sendable {
    /// The address under which everybody may read the item.
    package var url: String

    package init(url: String) {
        self.url = url
    }
}

struct PathBody: Codable {
    var path: String
}
