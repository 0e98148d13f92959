import Foundation

/// Where a mount keeps its state, unless told otherwise.
enum StatePath {
    /// The directory of a mount point: always the same, so that a mount goes on where it stopped,
    /// and no other mount point's.
    ///
    /// Root: `/var/lib/apus/NAME`; else `$XDG_STATE_HOME/apus/NAME`, by default below
    /// `~/.local/state`. The name is the mount point with `+` for each `/`.
    static func standard(forMountPoint mountPoint: String) throws -> String {
        let name = mountPoint.dropFirst()
            .replacing("%", with: "%25").replacing("+", with: "%2B").replacing("/", with: "+")
        guard name.utf8.count <= 255 else {
            throw CommandFailure(
                what: "choose a state directory for \(mountPoint)", why: "its path is too long",
                remedy: "give one with --state-dir")
        }
        return "\(try base())/apus/\(name)"
    }

    static func absolute(_ path: String) -> String {
        let absolute = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
        return absolute.count > 1 && absolute.hasSuffix("/")
            ? String(absolute.dropLast()) : absolute
    }

    private static func base() throws -> String {
        if geteuid() == 0 { return "/var/lib" }
        let environment = ProcessInfo.processInfo.environment
        // The XDG specification has relative paths ignored.
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { return home }
        if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.local/state" }
        throw CommandFailure(
            what: "choose a state directory",
            why: "neither XDG_STATE_HOME nor HOME is an absolute path",
            remedy: "give one with --state-dir")
    }
}
