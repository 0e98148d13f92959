/// A request with paths; without any, it concerns the whole mount.
struct PathsBody: Codable {
    var paths: [String]?
}

struct BandwidthBody: Codable {
    var up: UInt64?
    var down: UInt64?
}

struct PinBody: Codable {
    var paths: [String]?
    /// Whether the answer ends only when everything is here.
    var wait: Bool?
}

struct RestoreBody: Codable {
    var paths: [String]?
    /// The folder that gets what was at the paths; by default the former one.
    var to: String?
    /// Whether to restore everything, and not only what was deleted last.
    var all: Bool?
}

struct SyncBody: Codable {
    var paths: [String]?
    /// The time after which the answer ends, in seconds.
    var timeout: Double?
}

struct UnmountBody: Codable {
    var now: Bool?
    /// The time after which the folder stays mounted if changes are not on the remote, in seconds.
    var timeout: Double?
}

extension ControlError {
    /// Converts a client's path into the form of ``MountService``.
    ///
    /// - Throws: `.invalid` for `.` and `..`, which clients resolve themselves.
    static func checkedPath(_ path: String) throws(ControlError) -> String {
        let names = path.split(separator: "/")
        guard !names.contains("."), !names.contains(".."), !path.utf8.contains(0) else {
            throw ControlError(
                .invalid, what: "read the path \"\(path)\"", why: "it contains \".\" or \"..\"",
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
