/// Limits of the path of a Unix socket, which is shorter than other paths.
package enum SocketPath {
    /// SwiftNIO's limit, which is that of macOS; Linux would take 107 bytes, see unix(7).
    package static let bytesMax = 103

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
