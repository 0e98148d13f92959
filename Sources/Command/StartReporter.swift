import Control
import Foundation
import Synchronization

/// What a daemon tells the command that started it, once: an object of JSON on a pipe.
struct StartReport: Codable {
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
        // Should the reader be gone, nobody is left to tell.
        guard let json = try? ControlJSON.encode(report) else { return }
        try? FileHandle(fileDescriptor: descriptor).write(contentsOf: json)
    }
}
