package import FoundationEssentials

/// Some of the names in a directory, or one other item.
package struct ListPage: Codable, Hashable, Sendable {
    /// By name, in the order of the bytes.
    package var items: [ListItem]
    /// The position from which the next page continues, for no other use; nil after the last.
    package var next: String?

    package init(items: [ListItem], next: String?) {
        self.items = items
        self.next = next
    }
}

/// One name with its state.
package struct ListItem: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable {
        case file, directory, link
    }

    package enum State: String, Codable, Hashable, Sendable {
        case remote, local, partial, dirty, excluded, uploading, conflict, held, failed
    }

    package enum Pin: String, Codable, Hashable, Sendable {
        case itself, inherited
    }

    /// Relative to the mount point, as in ``StatusItem``.
    package var path: String
    package var kind: Kind
    package var state: State
    /// The progress of an upload, 0 to 100; otherwise nil.
    package var percent: Int?
    /// A file's size, or the length of a link's target.
    package var bytes: UInt64
    package var modified: Date
    /// By what it is pinned; nil if it is not.
    package var pin: Pin?

    package init(
        path: String, kind: Kind, state: State, percent: Int? = nil, bytes: UInt64, modified: Date,
        pin: Pin? = nil
    ) {
        self.path = path
        self.kind = kind
        self.state = state
        self.percent = percent
        self.bytes = bytes
        self.modified = modified
        self.pin = pin
    }
}
