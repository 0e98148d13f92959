/// Limits of the path of a Unix socket, which is shorter than other paths.
package enum SocketPath {
    /// unix(7): `sun_path` has 108 bytes, including the NUL.
    package static let bytesMax = 107

    /// The name of the control socket in its state directory.
    package static let name = "control.sock"

    /// - Throws: `.invalid` if the path is too long.
    static func check(_ path: String) throws(ControlError) {
        guard path.utf8.count <= bytesMax else {
            throw ControlError(
                .invalid, what: "serve the control socket \(path)",
                why:
                    "its path has \(path.utf8.count) bytes; a socket's path has at most \(bytesMax)",
                remedy: "give a shorter --state-dir")
        }
    }
}
