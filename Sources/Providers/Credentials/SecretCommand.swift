import Foundation
import Glibc

/// A command of the user's that prints something secret.
enum SecretCommand {
    /// What went wrong, without anything that it printed: `failed`.
    struct Failure: Error {
        let problem: String
    }

    private static let bytesMax = 64 << 10

    /// Runs a shell's command, and collects what it prints: at most 64 KiB.
    ///
    /// - Parameter limit: A command that takes longer is killed, as everything would wait for it; long
    ///   enough for one that asks its user for something.
    static func output(
        of command: Secret, limit: Duration = .seconds(300)
    ) async throws(Failure) -> [UInt8] {
        let result: Result<[UInt8], Failure>?
        do throws(SystemError) {
            // A thread of its own, since it may take its time.
            let pool = try BlockingPool(name: "apus-secret", threads: 1)
            result = await pool.run(onCancel: .abandon) { () throws(Failure) in
                try run(command.revealed, limit)
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

    private static func run(_ command: String, _ limit: Duration) throws(Failure) -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        let pipe = Pipe()
        process.standardOutput = pipe
        do {
            try process.run()
        } catch {
            throw Failure(problem: "cannot be run: \(error.localizedDescription)")
        }
        let output = read(pipe.fileHandleForReading.fileDescriptor, until: .now + limit)
        if output == nil { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        guard let output else { throw Failure(problem: "did not end within \(limit)") }
        guard process.terminationStatus == 0 else { throw Failure(problem: "failed") }
        return output
    }

    /// - Returns: All until the end; nil where that has not come by then.
    private static func read(
        _ descriptor: Int32, until deadline: ContinuousClock.Instant
    ) -> [UInt8]? {
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return nil }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(
                &entry, 1, Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up))))
            guard ready > 0 else { continue }
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count > 0 {
                output += piece.prefix(min(count, bytesMax - output.count))
            } else if count == 0 || errno != EINTR {
                return output
            }
        }
    }
}
