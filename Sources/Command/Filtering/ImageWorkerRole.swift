import CLinux
import Filters
import SystemCalls

/// This program as a worker of `apus apply`, which it recognises by its name: the arguments after it
/// would be read from `/proc`, which a worker cannot.
enum ImageWorkerRole {
    private static let name = "apus-image-worker"

    static var isOurs: Bool { String(cString: apus_program_name()) == name }

    /// - Throws: `CommandFailure`.
    static func program(within limits: PictureLimits) throws -> WorkerProgram {
        do throws(SystemError) {
            return try WorkerProgram(
                path: "/proc/self/exe", name: name, memoryBytesMax: limits.memoryBytesMax)
        } catch {
            throw CommandFailure(
                what: "cannot confine the processes that decode pictures", why: "\(error)")
        }
    }
}
