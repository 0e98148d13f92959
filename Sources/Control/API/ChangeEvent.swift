package import FoundationEssentials

/// One line of the stream of changes of a mount.
package struct ChangeEvent: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, CaseIterable, Sendable {
        case created, changed, moved, removed, uploaded, conflict
    }

    package enum Side: String, Codable, CaseIterable, Sendable {
        case local, remote
    }

    /// The place after this change, from which a later stream can continue.
    package var cursor: String
    /// nil in the first line, which has only the cursor, as the members below.
    package var change: Kind?
    /// The side on which the change was made.
    package var side: Side?
    /// The path at that time, relative to the mount point.
    package var path: String?
    /// The path before, if it is another one.
    package var from: String?
    package var time: Date?

    package init(
        cursor: String, change: Kind? = nil, side: Side? = nil, path: String? = nil,
        from: String? = nil, time: Date? = nil
    ) {
        self.cursor = cursor
        self.change = change
        self.side = side
        self.path = path
        self.from = from
        self.time = time
    }

    /// Whether it changes something at or below one of `paths`: there, or by a move of a folder above.
    package func isBelow(_ paths: [String]) -> Bool {
        let places = [path, from].compactMap(\.self)
        return paths.contains { watched in
            watched.isEmpty
                || places.contains { place in
                    place == watched || place.hasPrefix(watched + "/")
                        || from != nil && watched.hasPrefix(place + "/")
                }
        }
    }
}
