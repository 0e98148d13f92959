import Control
import Foundation
import Glibc

/// What commands print.
enum Console {
    /// One line on standard error.
    static func complain(_ line: String) {
        // Where nobody can be told, there is nobody to tell that.
        try? FileHandle.standardError.write(contentsOf: Data("apus: \(line)\n".utf8))
    }

    /// A value on standard output, as JSON for programs.
    static func printJSON(_ value: some Encodable, pretty: Bool = true) throws {
        let json = try ControlJSON.encode(value, pretty: pretty)
        write(json + Data("\n".utf8))
    }

    static func printLine(_ line: String) {
        write(Data("\(line)\n".utf8))
    }

    /// Not `print`, whose buffer would hold back the lines of a watch from a pipe. Ends the program
    /// where nobody reads on (`apus status | head -1`), as SIGPIPE does, or nothing more can be written.
    private static func write(_ data: Data) {
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(
                    STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    end(errno)
                }
            }
        }
    }

    private static func end(_ number: Int32) -> Never {
        guard number != EPIPE else { exit(128 + SIGPIPE) }
        complain(
            "cannot write to standard output: \(String(cString: strerror(number)).lowercased())")
        exit(EXIT_FAILURE)
    }
}
