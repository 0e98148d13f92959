import Control
import Foundation
import Synchronization

/// What a daemon tells the command that started it: objects of JSON on a pipe, one a line. The first
/// that does not say what is waited for is the last.
struct StartReport: Codable {
    /// What the daemon waits for, where it is not ready yet; empty for the remote.
    var waitsFor: String?
    /// nil for success.
    var error: Problem?
    /// What the user is to know of a mount that succeeded.
    var notes: [String]?
}

/// The daemon's end of that pipe; without one, a person at a terminal is told.
final class StartReporter: Sendable {
    /// Owned; nil once the report is sent, and in the foreground.
    private let pipe: Mutex<Int32?>
    private let isForeground: Bool

    init(descriptor: Int32?) {
        pipe = Mutex(descriptor)
        isForeground = descriptor == nil
    }

    /// Ends this process, in an orderly way, once nobody waits for it to be ready any more: a command
    /// that was interrupted leaves nothing behind that mounts the folder later.
    func endWithAsker() {
        guard let descriptor = pipe.withLock(\.self) else { return }
        let thread = Thread {
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            // The end of a pipe for writing has an error when the other end is closed: pipe(7).
            while poll(&entry, 1, -1) < 0 && errno == EINTR {}
            if self.pipe.withLock({ $0 != nil }) { kill(getpid(), SIGTERM) }
        }
        thread.name = "apus-asker"
        thread.start()
    }

    /// Says what is waited for, nil for the remote; means nothing after ``ready(_:notes:)``.
    func waits(for what: String?) {
        pipe.withLock { pipe in
            if let pipe { Self.write(StartReport(waitsFor: what ?? ""), to: pipe) }
        }
    }

    /// Says that the folder is usable.
    func ready(_ options: MountOptions, notes: [String]) {
        if isForeground {
            for note in notes { Console.complain("note: \(note)") }
            Console.printLine("Mounted on \(options.mountPoint); Ctrl-C unmounts.")
        }
        send(StartReport(notes: notes))
    }

    /// Says why there is no mount; means nothing after ``ready(_:notes:)``.
    func failed(_ error: any Error) {
        let problem =
            CommandFailure(error)?.problem ?? Problem(what: "mount", why: "\(error)")
        send(StartReport(error: problem))
    }

    private func send(_ report: StartReport) {
        guard let descriptor = pipe.withLock({ $0.take() }) else { return }
        defer { close(descriptor) }
        Self.write(report, to: descriptor)
    }

    private static func write(_ report: StartReport, to descriptor: Int32) {
        // Should the reader be gone, nobody is left to tell.
        guard let json = try? ControlJSON.encode(report, pretty: false) else { return }
        try? FileHandle(fileDescriptor: descriptor).write(contentsOf: json + Data("\n".utf8))
    }
}
