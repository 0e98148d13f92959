import Glibc

/// A command of the user's that prints something secret.
enum SecretCommand {
    /// What went wrong, without anything that it printed: `failed`.
    struct Failure: Error {
        let problem: String
    }

    private static let bytesMax = 64 << 10

    /// Runs a shell's command, with no limit of time, and collects what it prints: at most 64 KiB.
    static func output(of command: Secret) async throws(Failure) -> [UInt8] {
        let result: Result<[UInt8], Failure>?
        do throws(SystemError) {
            // A thread of its own, since it may ask its user for something.
            let pool = try BlockingPool(name: "apus-secret", threads: 1)
            result = await pool.run(onCancel: .abandon) { () throws(Failure) in
                try run(command.revealed)
            }
        } catch {
            throw Failure(problem: "cannot be run: \(error)")
        }
        switch result {
        case .success(let output): return output
        case .failure(let error): throw error
        case nil: throw Failure(problem: "was cancelled")
        }
    }

    private static func run(_ command: String) throws(Failure) -> [UInt8] {
        guard let stream = popen(command, "re") else {
            throw Failure(problem: "cannot be run: \(SystemError.last)")
        }
        var output: [UInt8] = []
        while case let character = getc(stream), character != EOF {
            if output.count < bytesMax { output.append(UInt8(truncatingIfNeeded: character)) }
        }
        guard pclose(stream) == 0 else { throw Failure(problem: "failed") }
        return output
    }
}
