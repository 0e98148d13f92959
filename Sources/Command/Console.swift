import Control
import Foundation

/// What commands print.
enum Console {
    /// One line on standard error.
    static func complain(_ line: String) {
        FileHandle.standardError.write(Data("apus: \(line)\n".utf8))
    }

    /// A value on standard output, as JSON for programs.
    static func printJSON(_ value: some Encodable, pretty: Bool = true) throws {
        let json = try ControlJSON.encode(value, pretty: pretty)
        // Not `print`, whose buffer would hold back the lines of a watch from a pipe.
        FileHandle.standardOutput.write(json + Data("\n".utf8))
    }

    static func printLine(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
