/// A public link.
package struct LinkReport: Codable, Hashable, Sendable {
    /// The address at which anyone can read the item.
    package var url: String

    package init(url: String) {
        self.url = url
    }
}

struct PathBody: Codable {
    var path: String
}
