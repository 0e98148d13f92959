import CLinux
import Glibc

/// Starts programs that end with this process, and waits for child processes.
package enum ChildProgram {
    /// See `apus_start_program`: the kernel kills the program when the calling thread ends. The
    /// caller waits for it (`waitpid`).
    ///
    /// - Parameters:
    ///   - command: The program's path, and its arguments.
    ///   - environment: `NAME=VALUE`.
    ///   - output: A descriptor for its standard output, still owned by the caller.
    ///   - errors: The same for its standard error.
    ///   - keepsTerminal: Whether it may prompt the user on our terminal. Otherwise it leads a
    ///     process group of its own.
    package static func start(
        _ command: [String], environment: [String], output: Int32, errors: Int32,
        keepsTerminal: Bool = false
    ) throws(SystemError) -> Int32 {
        var process: pid_t = 0
        let error = withCStrings(command) { arguments in
            withCStrings(environment) { variables in
                apus_start_program(
                    command[0], arguments, variables, output, errors, keepsTerminal, &process)
            }
        }
        guard error == 0 else { throw SystemError(error) }
        return process
    }

    /// Waits for the end of a child. POSIX: `waitpid`.
    ///
    /// - Returns: Its status, as `waitpid` reports it.
    @discardableResult
    package static func awaitEnd(of process: Int32) -> Int32 {
        var status: Int32 = 0
        // Fails only if the process is not a child, or was waited for already.
        _ = try? retryingInterrupts { waitpid(process, &status, 0) }
        return status
    }
}

/// Calls `body` with the strings as a null-terminated list of C strings.
package func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
    let copies = strings.map { (string: String) in strdup(string) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
}
