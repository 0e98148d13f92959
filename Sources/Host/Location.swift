import Engine

/// A checked path below the state directory.
struct Location: Sendable {
    /// Relative to the root.
    let path: String

    /// The directories above the file: the root (`.`) first, then down to the one that holds it.
    let parents: [String]

    /// - Parameter path: Names with single slashes between them, none of them `.` or `..`: paths
    ///   are made by the engine, so one that leads elsewhere is a broken invariant.
    init(_ path: DiskPath) {
        let names = path.description.split(separator: "/", omittingEmptySubsequences: false)
        precondition(
            names.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && !$0.utf8.contains(0) },
            "\"\(path)\" is no path below the state directory")
        self.path = path.description
        parents =
            ["."] + names.indices.dropFirst().map { names[..<$0].joined(separator: "/") }
    }
}
