import Foundation

/// Other programs, for tests.
enum Program {
    struct Outcome {
        let status: Int32
        let output: String
        let complaint: String
    }

    /// Runs a program to its end; found in `PATH` unless its name has a slash.
    static func run(_ arguments: [String]) async throws -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        let complaint = Pipe()
        process.standardOutput = output
        process.standardError = complaint
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    with: Result {
                        try process.run()
                        // What these programs say fits a pipe, so one after the other will do.
                        let said = try output.fileHandleForReading.readToEnd() ?? Data()
                        let complained = try complaint.fileHandleForReading.readToEnd() ?? Data()
                        process.waitUntilExit()
                        return Outcome(
                            status: process.terminationStatus,
                            output: String(decoding: said, as: UTF8.self),
                            complaint: String(decoding: complained, as: UTF8.self))
                    })
            }
            thread.start()
        }
    }

    /// The `apus` that was built with these tests.
    static var apus: String {
        URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "apus").path(percentEncoded: false)
    }
}

/// Whether a program is installed.
func canRun(_ name: String) -> Bool {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { access("\($0)/\(name)", X_OK) == 0 }
}
