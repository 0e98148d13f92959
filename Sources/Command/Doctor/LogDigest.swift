import Foundation

/// The last messages of a daemon's log, without their values, which may be names of files.
enum LogDigest {
    private static let bytesMax = 1 << 20
    private static let linesMax = 500

    /// - Parameter directory: A state directory.
    /// - Returns: nil if there is no log.
    static func text(ofStateIn directory: String) -> String? {
        guard let file = FileHandle(forReadingAtPath: DaemonLog.path(in: directory)) else {
            return nil
        }
        defer { try? file.close() }
        let size = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: size > bytesMax ? size - UInt64(bytesMax) : 0)
        let bytes = (try? file.readToEnd()) ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            .compactMap(message).suffix(linesMax).joined(separator: "\n") + "\n"
    }

    /// Returns `TIME LEVEL MODULE: MESSAGE`, as `LogFormat.text` writes a line, without the values after it and
    /// without paths between quotes. A line of another form is left out, such as the second one of a value
    /// with a line end.
    static func message(_ line: Substring) -> String? {
        let form = /(\S+ [a-z]+ [a-z]+: .+?)(?: [A-Za-z]+=.*)?/
        guard let parts = line.wholeMatch(of: form) else { return nil }
        return String(parts.1.replacing(/"[^"]*"/, with: "…"))
    }
}
