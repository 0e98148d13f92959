/// Finds the intended word for a misspelled one.
package enum Spelling {
    /// Returns the candidate with the fewest letters inserted, deleted or replaced; nil if even
    /// that one differs in more than a third of its letters.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { (name: $0, distance: distance(word, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }),
            best.distance <= max(1, best.name.count / 3)
        else { return nil }
        return best.name
    }

    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
