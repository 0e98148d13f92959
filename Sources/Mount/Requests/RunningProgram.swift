import Glibc

/// The program that a thread of another process runs.
struct RunningProgram {
    /// The name of its executable file, without directories.
    let executable: String
    /// The name of the script or module that an interpreter runs; nil for any other program.
    let script: String?

    /// - Parameter thread: See ``Reply/thread``.
    /// - Returns: nil if the system does not tell, as of another user's processes.
    init?(_ thread: pid_t) {
        guard thread > 0, let executable = Self.executable(of: thread) else { return nil }
        self.executable = executable
        script = Interpreter.named(executable).flatMap { interpreter in
            Self.script(of: interpreter, in: readText("/proc/\(thread)/cmdline") ?? "")
        }
    }

    /// The name by which a user knows it.
    var name: String { script ?? executable }

    /// - Parameter text: The content of `/proc/PID/cmdline`: the name of the program and its arguments, each with
    ///   a NUL at its end.
    static func script(of interpreter: Interpreter, in text: String) -> String? {
        let arguments = text.split(separator: "\0", omittingEmptySubsequences: false).dropLast()
        let script = interpreter.script(in: arguments.dropFirst())
        return script?.split(separator: "/").last.map(String.init)
    }

    private static func executable(of thread: pid_t) -> String? {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
            let bytes = buffer.bindMemory(to: CChar.self)
            guard let start = bytes.baseAddress else { return nil }
            let count = readlink("/proc/\(thread)/exe", start, bytes.count)
            guard count > 0 else { return nil }
            let path = buffer[..<count]
            let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path
            return String(decoding: name, as: UTF8.self)
        }
    }
}
