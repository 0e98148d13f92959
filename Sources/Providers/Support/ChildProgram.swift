import CProcess
import Glibc

/// Starts programs that end with this process.
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
    ) -> Result<Int32, SystemError> {
        let arguments = command.map { (text: String) in strdup(text) } + [nil]
        let variables = environment.map { (text: String) in strdup(text) } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        var process: pid_t = 0
        let error = apus_start_program(
            command[0], arguments, variables, output, errors, keepsTerminal, &process)
        return error == 0 ? .success(process) : .failure(SystemError(error))
    }
}
