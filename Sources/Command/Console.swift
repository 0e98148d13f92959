import Control
import Foundation
import SystemCalls

/// The output of commands.
enum Console {
    /// Writes one line to standard error.
    static func complain(_ line: String) {
        // A failure here cannot be reported.
        try? FileHandle.standardError.write(contentsOf: Data("apus: \(line)\n".utf8))
    }

    /// Writes a value to standard output, as JSON.
    static func printJSON(_ value: some Encodable, pretty: Bool = true) throws {
        let json = try ControlJSON.encode(value, pretty: pretty)
        write(json + Data("\n".utf8))
    }

    static func printLine(_ line: String) { write("\(line)\n") }

    static func write(_ text: String) { write(Data(text.utf8)) }

    /// Lists failures, and what was not waited for any longer, in lines of the terminal's width.
    static func printFailures(of progress: SyncProgress) {
        let columns = Terminal.columns(of: STDOUT_FILENO)
        progress.failureLines(columns: columns).forEach(printLine)
        progress.timeoutLines(columns: columns).forEach(printLine)
    }

    /// Writes without the buffer of `print`, which would delay the lines of a watch in a pipe. Ends the
    /// program if the reader has ended (`apus status | head -1`), as SIGPIPE does, or the write fails.
    static func write(_ data: Data) {
        do {
            try PosixIO.write(STDOUT_FILENO, Array(data))
        } catch {
            guard error.code != EPIPE else { exit(128 + SIGPIPE) }
            complain("cannot write to standard output: \("\(error)".lowercased())")
            exit(EXIT_FAILURE)
        }
    }
}
