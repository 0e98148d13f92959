extension Collection {
    /// Returns the collection in pieces, each of `count` elements except for the last.
    func pieces(of count: Int) -> some Sequence<SubSequence> {
        sequence(state: self[...]) { rest -> SubSequence? in
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
    }
}
