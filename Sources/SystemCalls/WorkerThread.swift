import CLinux
import Glibc

/// A POSIX thread with a name. It is joined or detached, once.
package struct WorkerThread: Sendable {
    /// The argument of the new thread, which alone uses it.
    private final class Assignment: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private let id: pthread_t

    /// Starts `body` on a new thread.
    ///
    /// - Parameter name: Shown by the kernel, which keeps 15 bytes.
    package init(name: String, body: @escaping @Sendable () -> Void) throws(SystemError) {
        let assignment = Unmanaged.passRetained(Assignment(name: name, body: body))
        var id = pthread_t()
        let result = pthread_create(
            &id, nil,
            { argument in
                guard let argument else { preconditionFailure("a thread starts with its argument") }
                let assignment = Unmanaged<Assignment>.fromOpaque(argument).takeRetainedValue()
                apus_name_thread(assignment.name)
                assignment.body()
                return nil
            }, assignment.toOpaque())
        if result != 0 {
            assignment.release()
            throw SystemError(result)
        }
        self.id = id
    }

    /// Names the calling thread, and the threads that it starts from now on unless they have names of
    /// their own. Foundation shows the name of a `Thread` to nobody but the program itself.
    ///
    /// - Parameter name: Shown by the kernel, which keeps 15 bytes.
    package static func nameCurrent(_ name: String) { apus_name_thread(name) }

    package var isCurrent: Bool { pthread_equal(id, pthread_self()) != 0 }

    /// Waits for the end of the thread.
    package func join() {
        let result = pthread_join(id, nil)
        precondition(result == 0, "a thread is joined once, and by another")
    }

    /// Lets the thread end by itself.
    package func detach() {
        pthread_detach(id)
    }
}
