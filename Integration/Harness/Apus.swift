import Foundation
import Testing

/// The `apus` that was built together with these tests, as a program.
enum Apus {
    /// `APUS` from the environment, else the executable beside that of the tests.
    static let path: String = {
        if let given = ProcessInfo.processInfo.environment["APUS"] { return given }
        let tests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appending(path: "apus").path(
            percentEncoded: false)
    }()

    /// Runs it to its end, whatever its exit status.
    static func run(_ arguments: String..., limitSeconds: Int = 180) throws -> Program.Result {
        try run(arguments, limitSeconds: limitSeconds)
    }

    static func run(
        _ arguments: [String], limitSeconds: Int = 180, environment: [String: String] = [:]
    ) throws -> Program.Result {
        try start(arguments, limitSeconds: limitSeconds, environment: environment).wait()
    }

    static func start(
        _ arguments: [String], limitSeconds: Int = 180, environment: [String: String] = [:]
    ) throws -> Program {
        try Program.start(
            [path] + arguments, limitSeconds: limitSeconds, environment: environment)
    }

    /// Checks that a command is refused as every refusal should be: exit status 1, and one line
    /// that has `words` in it.
    static func expectRefusal(
        _ arguments: String..., naming words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let result = try run(arguments)
        let comment = Comment(rawValue: result.description)
        #expect(result.status == 1, comment, sourceLocation: sourceLocation)
        #expect(result.errorLines.count == 1, comment, sourceLocation: sourceLocation)
        for word in words {
            #expect(
                result.errors.localizedCaseInsensitiveContains(word), comment,
                sourceLocation: sourceLocation)
        }
    }
}
