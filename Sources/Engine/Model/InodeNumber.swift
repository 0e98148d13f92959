/// A file's identity: the row id of its inode, stable for its lifetime and across restarts, and
/// never reused.
package struct InodeNumber: Hashable, Comparable, Sendable {
    /// Always positive; it fits the kernel's 64-bit inode number and SQLite's signed row id.
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The root directory of the mount. FUSE: `FUSE_ROOT_ID`.
    package static let root = InodeNumber(rawValue: 1)

    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension InodeNumber: CustomStringConvertible {
    package var description: String { String(rawValue) }
}
