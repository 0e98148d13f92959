import Synchronization

/// What has to be done before this process ends, however it comes to that: a helper program to be
/// ended, a directory to be removed. Whatever waits for `deinit` may never come.
final class Endings: Sendable {
    private let works = Mutex<[@Sendable () -> Void]>([])

    func add(_ work: @escaping @Sendable () -> Void) {
        works.withLock { $0.append(work) }
    }

    /// Does all of it, the last first, and each only once.
    func run() async {
        let works = works.withLock { works in
            defer { works = [] }
            return works
        }
        try? await onOwnThread {
            for work in works.reversed() { work() }
        }
    }
}
