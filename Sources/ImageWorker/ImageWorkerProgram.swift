import Glibc
import Rendering
import SystemCalls

/// A worker of `apus apply`: filters pictures for the batch at the other end of the socket that is its
/// standard input. See docs/decisions/019.
@main
enum ImageWorkerProgram {
    static func main() {
        guard (try? FileStatus(of: STDIN_FILENO))?.kind == .socket else {
            let message = Array("apus-image-worker: `apus apply` starts this program\n".utf8)
            _ = write(STDERR_FILENO, message, message.count)
            _exit(2)
        }
        signal(SIGPIPE, SIG_IGN)
        WorkerService.run(socket: STDIN_FILENO)
        // Without exit handlers, which would destroy the state of libraries that threads still use.
        _exit(0)
    }
}
