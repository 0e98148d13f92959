/// A file or folder that is pinned itself, with all that is below it.
package struct PinnedItem: Codable, Hashable, Sendable {
    package var path: String
    package var files: UInt64
    /// The space that its files take once they are all here.
    package var bytes: UInt64
    /// The files of which bytes are missing.
    package var filesMissing: UInt64
    package var bytesMissing: UInt64

    package init(
        path: String, files: UInt64, bytes: UInt64, filesMissing: UInt64, bytesMissing: UInt64
    ) {
        self.path = path
        self.files = files
        self.bytes = bytes
        self.filesMissing = filesMissing
        self.bytesMissing = bytesMissing
    }
}

/// All that is pinned in a mount.
package struct PinReport: Codable, Hashable, Sendable {
    package var mountPoint: String
    /// By path.
    package var pins: [PinnedItem]

    package init(mountPoint: String, pins: [PinnedItem]) {
        self.mountPoint = mountPoint
        self.pins = pins
    }
}

/// The result of unpinning.
package struct UnpinReport: Codable, Hashable, Sendable {
    /// The files and folders that were pinned themselves.
    package var unpinned: UInt64

    package init(unpinned: UInt64) {
        self.unpinned = unpinned
    }
}
