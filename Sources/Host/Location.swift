import Engine

/// A checked path below the state directory.
struct Location: Sendable {
    /// Relative to the root.
    let path: String

    /// The directories above the file, from the root (`.`) down to its parent.
    let parents: [String]

    /// - Parameter path: Names separated by single slashes, none of them `.` or `..`. The engine makes
    ///   all paths, so one that leads out of the state directory is a broken invariant.
    init(_ path: DiskPath) {
        let names = path.description.split(separator: "/", omittingEmptySubsequences: false)
        precondition(
            names.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && !$0.utf8.contains(0) },
            "\"\(path)\" is not a path below the state directory")
        self.path = path.description
        parents =
            ["."] + names.indices.dropFirst().map { names[..<$0].joined(separator: "/") }
    }
}
