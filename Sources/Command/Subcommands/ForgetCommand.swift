import ArgumentParser
import Control
import Foundation
import Host

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Removes the state of a source that is not mounted.",
        discussion: """
            Frees the space of the state directory: its local copies, its database and its trash. \
            Nothing on the remote changes, and the source can be mounted again. Refused while \
            something in it exists nowhere else: changes that are not on the remote, held deletions, \
            files in the trash, or bytes in `lost+found`.

            EXAMPLES:
              apus forget folder:/srv/cloud
              apus forget ~/Cloud
              apus forget /var/lib/apus/cloud-1f9a6c2e --discard
            """)

    @Argument(
        help: "State directories, their sources, or the folders where they were mounted.",
        completion: .directory)
    var state: [String]

    @Flag(help: "Remove also what exists nowhere else.")
    var discard = false

    func run() async throws {
        StateLocator.halfRemoved.forEach { StateRemoval.finish($0) }
        var failures: [CommandFailure] = []
        for text in state {
            do {
                Console.printLine(try await forget(text))
            } catch let error where state.count > 1 {
                // The other states are still removed.
                guard let failure = CommandFailure(error) else { throw error }
                failures.append(failure)
            }
        }
        guard let first = failures.first else { return }
        throw failures.count == 1
            ? first
            : CommandFailure(
                what: "forget \(state.count) states",
                why: "\(failures.count) are left, the first: \(first.problem)")
    }

    private func forget(_ text: String) async throws -> String {
        let discards = discard
        return try await onOwnThread {
            let interrupted = Path.absolute(text) + StateDirectory.removalSuffix
            let isFinished =
                FileManager.default.fileExists(atPath: interrupted)
                && StateRemoval.finish(interrupted)
            if isFinished, !FileManager.default.fileExists(atPath: Path.absolute(text)) {
                return "Removed what an interrupted removal of \(Path.absolute(text)) had left."
            }
            let directory = try StateLocator.directory(for: text, to: "forget")
            return try StateRemoval(directory, discards: discards).run()
        }
    }
}
