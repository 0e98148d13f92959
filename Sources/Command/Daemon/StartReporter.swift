import Control
import Foundation
import Synchronization
import SystemCalls

/// A message from a daemon to the command that started it: a line of JSON on a pipe. The first one
/// without `waitsFor` is the last.
struct StartReport: Codable {
    /// The reason for a delay, empty for the remote; nil in the last message.
    var waitsFor: String?
    /// nil for success.
    var error: Problem?
    /// Notes for the user about a successful mount.
    var notes: [String]?
}

/// The daemon's end of that pipe; in the foreground, it writes to the terminal instead.
final class StartReporter: Sendable {
    /// Owned; nil in the foreground and after the last message.
    private let pipe: Mutex<Int32?>
    private let isForeground: Bool

    init(descriptor: Int32?) {
        pipe = Mutex(descriptor)
        isForeground = descriptor == nil
    }

    /// Ends this process in an orderly way if the command that waits for it ends: an interrupted
    /// command must not leave a process behind that mounts the folder later.
    func endWithParent() {
        guard let descriptor = pipe.withLock(\.self) else { return }
        Thread.detachNewThread {
            WorkerThread.nameCurrent("apus-parent")
            // poll(2) reports an error for the writing end once the other end is closed.
            _ = PosixIO.poll(descriptor, for: 0)
            if self.pipe.withLock({ $0 != nil }) { kill(getpid(), SIGTERM) }
        }
    }

    /// Reports a reason for a delay, nil for the remote; ignored after ``ready(_:notes:)``.
    func waits(for what: String?) {
        pipe.withLock { pipe in
            if let pipe { Self.write(StartReport(waitsFor: what ?? ""), to: pipe) }
        }
    }

    /// Reports that the folder is usable.
    func ready(_ options: MountOptions, notes: [String]) {
        if isForeground {
            for note in notes { Console.complain("note: \(note)") }
            Console.printLine("Mounted on \(options.mountPoint); Ctrl-C unmounts.")
        }
        send(StartReport(notes: notes))
    }

    /// Reports a failure to mount; ignored after ``ready(_:notes:)``.
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
        // A failure means that the reader has ended, and is of no consequence.
        guard let json = try? ControlJSON.encode(report, pretty: false) else { return }
        try? FileHandle(fileDescriptor: descriptor).write(contentsOf: json + Data("\n".utf8))
    }
}
