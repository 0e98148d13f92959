/// A request that names paths; none means the whole mount.
struct PathsBody: Codable {
    var paths: [String]?
}

struct UnmountBody: Codable {
    var now: Bool?
}

extension ControlError {
    /// Brings a path that a client gave into the shape that ``MountService`` is promised.
    ///
    /// - Throws: `.invalid` for `.` and `..`, which a client resolves itself.
    static func checkedPath(_ path: String) throws(ControlError) -> String {
        let names = path.split(separator: "/")
        guard !names.contains("."), !names.contains(".."), !path.utf8.contains(0) else {
            throw ControlError(
                .invalid, what: "read the path \"\(path)\"", why: "it has \".\" or \"..\" in it",
                remedy: "give the path relative to the mount point")
        }
        return names.joined(separator: "/")
    }

    static func checkedPaths(_ paths: [String]) throws(ControlError) -> [String] {
        var checked: [String] = []
        for path in paths { checked.append(try checkedPath(path)) }
        return checked
    }
}
