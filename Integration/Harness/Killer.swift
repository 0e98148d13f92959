import Foundation
import Glibc
import Synchronization
import Testing

/// Kills a daemon at random moments of a test's progress, and mounts again each time.
final class Killer: Sendable {
    private struct State {
        var done = 0
        var isStopped = false
        var kills = 0
        var failure: (any Error)?
        var isFinished = false
    }

    /// After how many files to kill, and how many microseconds later.
    private let moments: [(files: Int, microseconds: UInt32)]
    private let folder: MountedFolder
    private let state = Mutex(State())
    private let changed = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)

    init(_ folder: MountedFolder, kills: Int, files: Int, random: inout SeededRandom) {
        self.folder = folder
        var moments: [(files: Int, microseconds: UInt32)] = []
        for _ in 0..<kills {
            moments.append(
                (
                    files: Int.random(in: 0..<files, using: &random),
                    microseconds: UInt32.random(in: 0..<5000, using: &random)
                ))
        }
        self.moments = moments.sorted { $0.files < $1.files }
    }

    /// Told by the test after each file.
    func report(done: Int) {
        state.withLock { $0.done = done }
        changed.signal()
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        changed.signal()
        finished.wait()
    }

    /// Returns once all kills are done.
    func finish() throws {
        finished.wait()
        let (kills, failure) = state.withLock { ($0.kills, $0.failure) }
        if let failure { throw failure }
        #expect(kills == moments.count)
    }

    /// The thread's whole life.
    func run() {
        defer { finished.signal() }
        do {
            for moment in moments {
                guard waitUntil(done: moment.files) else { return }
                // Not waiting for something, but hitting at a random point of the next file.
                usleep(moment.microseconds)
                try folder.killDaemon()
                try folder.remount()
                state.withLock { $0.kills += 1 }
            }
        } catch {
            state.withLock { $0.failure = error }
        }
    }

    /// - Returns: Whether the test is still going on.
    private func waitUntil(done count: Int) -> Bool {
        while true {
            let (done, isStopped) = state.withLock { ($0.done, $0.isStopped) }
            if isStopped { return false }
            if done >= count { return true }
            changed.wait()
        }
    }
}
