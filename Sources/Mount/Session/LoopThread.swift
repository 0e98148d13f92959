import CFuse
import Dispatch
import Glibc
import Synchronization

/// Runs libfuse's loop on the calling thread, and makes it return.
///
/// `fuse_session_exit` only sets a flag. The loop checks it when a request arrives or a signal
/// interrupts its sleep, so this sends signals until the loop has ended: a single one could arrive
/// between the check and the sleep.
final class LoopThread: Sendable {
    /// A signal that no program sends and that Swift, Dispatch and glibc do not use.
    private static let signal = __libc_current_sigrtmin() + 7

    private enum State {
        case idle
        case running(pthread_t, SessionHandle)
        case ended
    }

    private struct Guarded {
        var state = State.idle
        var isStopping = false
    }

    private let guarded = Mutex(Guarded())
    private let ended = DispatchSemaphore(value: 0)

    /// Answers requests on this thread and others until the mount is gone or ``stop()`` is called.
    ///
    /// - Returns: 0, or an errno of either sign.
    func run(_ handle: SessionHandle, threadsMax: Int) -> CInt {
        Self.catchSignal()
        let isStopping = guarded.withLock { guarded in
            if !guarded.isStopping { guarded.state = .running(pthread_self(), handle) }
            return guarded.isStopping
        }
        guard !isStopping else { return 0 }
        let result = apus_session_loop(handle.session, CUnsignedInt(threadsMax))
        guarded.withLock { $0.state = .ended }
        ended.signal()
        return result
    }

    /// Ends the loop and returns once it has ended. Must not be called on one of its threads.
    func stop() {
        guarded.withLock { guarded in
            guarded.isStopping = true
            guard case .running(_, let handle) = guarded.state else { return }
            fuse_session_exit(handle.session)
        }
        while wake() {
            if ended.wait(timeout: .now() + .milliseconds(10)) == .success {
                // For a second caller.
                ended.signal()
            }
        }
    }

    /// - Returns: Whether the loop is running.
    private func wake() -> Bool {
        // Under the lock, so that the thread still exists.
        guarded.withLock { guarded in
            guard case .running(let thread, _) = guarded.state else { return false }
            pthread_kill(thread, Self.signal)
            return true
        }
    }

    /// Installs an empty handler, so that the signal only interrupts this thread's sleep.
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
