import CLinux
import Glibc

/// Finds programs as a shell does.
package enum ProgramPath {
    /// Returns the path of the first executable file with a name; nil if there is none.
    ///
    /// - Parameter path: Directories with colons in between, as in the variable `PATH`. Relative ones are left
    ///   out: another program may have chosen the current directory.
    package static func find(_ name: String, in path: String) -> String? {
        path.split(separator: ":").lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
            .first(where: isExecutable)
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }
}
