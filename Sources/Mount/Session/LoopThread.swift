import CFuse
import Dispatch
import Glibc
import Synchronization

/// The thread in libfuse's loop, and the way to get it out of there.
///
/// `fuse_session_exit` only sets a flag. The loop looks at it when a request comes or a signal
/// interrupts its sleep, so this sends signals until the loop has ended: one alone could arrive
/// between the look and the sleep.
final class LoopThread: Sendable {
    /// No program sends this one, and Swift, Dispatch and glibc leave it alone.
    private static let signal = __libc_current_sigrtmin() + 7

    private enum State {
        case idle
        case running(pthread_t, session: OpaquePointer)
        case ended
    }

    private struct Guarded: @unchecked Sendable {  // sound: libfuse ends loops from any thread
        var state = State.idle
        var isStopping = false
    }

    private let guarded = Mutex(Guarded())
    private let ended = DispatchSemaphore(value: 0)

    /// Answers requests on this thread and others until the mount is gone or ``stop()`` is called.
    ///
    /// - Returns: 0, or what went wrong as an errno of either sign.
    func run(_ session: OpaquePointer, threadsMax: Int) -> CInt {
        Self.catchSignal()
        let isStopping = guarded.withLock { guarded in
            if !guarded.isStopping { guarded.state = .running(pthread_self(), session: session) }
            return guarded.isStopping
        }
        guard !isStopping else { return 0 }
        let result = apus_session_loop(session, CUnsignedInt(threadsMax))
        guarded.withLock { $0.state = .ended }
        ended.signal()
        return result
    }

    /// Ends the loop, and returns once it has ended. Not on one of its threads.
    func stop() {
        guarded.withLock { guarded in
            guarded.isStopping = true
            guard case .running(_, let session) = guarded.state else { return }
            fuse_session_exit(session)
        }
        while wake() {
            if ended.wait(timeout: .now() + .milliseconds(10)) == .success {
                // For a second caller.
                ended.signal()
            }
        }
    }

    /// - Returns: Whether the loop runs.
    private func wake() -> Bool {
        // Under the lock, so that the thread is still there.
        guarded.withLock { guarded in
            guard case .running(let thread, _) = guarded.state else { return false }
            pthread_kill(thread, Self.signal)
            return true
        }
    }

    /// Has the signal interrupt this thread's sleep and do nothing else.
    private static func catchSignal() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(signal, &action, nil)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, signal)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}
