import CProcess
import Glibc

/// Starts programs that do not outlive us.
package enum ChildProgram {
    /// See `apus_start_program`: the kernel kills the program when the calling thread ends. The caller waits for
    /// its end (`waitpid`).
    ///
    /// - Parameters:
    ///   - command: A program's path, and its arguments.
    ///   - environment: `NAME=VALUE`.
    ///   - output: A descriptor for its standard output, which stays the caller's.
    ///   - errors: The same for its standard error.
    ///   - keepsTerminal: Whether it may ask its user something on our terminal. Otherwise it leads a group of
    ///     processes.
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
