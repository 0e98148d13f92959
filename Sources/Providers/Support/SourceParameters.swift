/// The parameters after the question mark of a source: `name=value`, separated by `&`.
package enum SourceParameters {
    /// - Parameters:
    ///   - names: The parameters of this kind of source.
    ///   - owner: The kind, for messages: `a folder`.
    ///   - hint: The remedy for a name that resembles none of them.
    /// - Throws: `.misspelled` for a name that is unknown or given twice.
    package static func values(
        of query: Substring, names: [String], owner: String, hint: String
    ) throws(SourceError) -> [String: String] {
        var values: [String: String] = [:]
        for item in query.split(separator: "&") {
            let name = String(item.prefix { $0 != "=" })
            guard names.contains(name) else {
                let near = Spelling.nearest(to: name, among: names)
                throw SourceError(
                    .misspelled, "\(owner) has no parameter \"\(name.prefix(40))\"",
                    remedy: near.map { "did you mean \"\($0)\"?" } ?? hint)
            }
            guard values[name] == nil else {
                throw SourceError(
                    .misspelled, "\"\(name)\" is given twice", remedy: "give it once")
            }
            values[name] = String(item.dropFirst(name.count + 1))
        }
        return values
    }
}
