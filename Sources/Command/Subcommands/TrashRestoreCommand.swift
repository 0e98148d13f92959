import ArgumentParser
import Control
import Foundation
import Glibc
import Host

struct TrashRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Brings files back that were deleted on the remote or lost a conflict.",
        discussion: """
            A path is that of a deleted file, or of a folder: then all files that were below it and \
            deleted last come back, those with less than a minute between one deletion and the next, \
            in folders that are made if necessary. A name without a folder stands for the only file of \
            that name in the trash. The files are new ones with their mode, time and extended \
            attributes, and are sent to the remote. Nothing is replaced: if a name is taken, the \
            file gets another one, which is told.

            EXAMPLES:
              apus trash restore ~/Cloud/Photos/a.jpg
              apus trash restore ~/Cloud/Photos --to ~/Cloud/Restored
              apus trash restore a.jpg
            """)

    @Argument(help: "Former files and folders, with everything below.", completion: .file())
    var path: [String]

    @Option(
        help: "The folder that gets them; by default that in which each was.",
        completion: .directory)
    var to: String?

    @Flag(help: "Everything below a path, and not only what was deleted last.")
    var all = false

    @Flag(help: "Print JSON, a line for each step.")
    var json = false

    func run() async throws {
        let daemons = try Daemons()
        var failures: [SyncProgress.Failure] = []
        for text in path {
            let (target, place) = try await find(text, daemons)
            failures += try await restore(place, of: target, to: try folder(of: target, daemons))
        }
        guard let first = failures.first else { return }
        throw CommandFailure(
            what: "bring everything back",
            why: failures.count == 1
                ? first.line(columns: Terminal.columns(of: STDERR_FILENO))
                : "\(failures.count) files failed")
    }

    private func folder(of target: Daemons.Target, _ daemons: Daemons) throws -> String? {
        guard let to else { return nil }
        let place = try daemons.formerPlace(to)
        guard place.target.mountPoint == target.mountPoint else {
            throw CommandFailure(
                what: "restore to \(to)", why: "it is not in the mount \(target.mountPoint)",
                remedy: "name a folder in that mount")
        }
        return place.path
    }

    private func restore(
        _ path: String, of target: Daemons.Target, to folder: String?
    ) async throws -> [SyncProgress.Failure] {
        var failures: [SyncProgress.Failure] = []
        var line = json ? nil : ProgressLine.standardError()
        let last = try await target.client.restore([path], to: folder, isAll: all) { progress in
            failures += progress.failed
            if json {
                try? Console.printJSON(progress, pretty: false)
                return
            }
            let told = progress.told(columns: Terminal.columns(of: STDOUT_FILENO))
            if !told.isEmpty {
                line?.finish()
                told.forEach(Console.printLine)
            }
            if !progress.isDone { line?.show(progress.line) }
        }
        line?.finish()
        if !json { Console.printLine("\(target.mountPoint): \(last.line).") }
        return failures
    }

    /// Returns the place of a path, or of the only file in the trash that has a name.
    private func find(
        _ text: String, _ daemons: Daemons
    ) async throws -> (target: Daemons.Target, path: String) {
        do {
            let place = try daemons.formerPlace(text)
            if text.contains("/") { return place }
            var isThere = false
            try await place.target.client.trash(below: place.path) { page in
                isThere = isThere || !page.items.isEmpty
            }
            if isThere { return place }
        } catch let error as ControlError where error.kind == .missing {
            try requireMounted(text)
            if text.contains("/") { throw error }
        }
        return try await find(named: text, daemons)
    }

    /// - Throws: If it is at or below the place where a state was mounted, or the state's directory.
    private func requireMounted(_ text: String) throws {
        var place = text
        while true {
            if let directory = try? StateLocator.directory(for: place, to: "restore") {
                throw notMounted(text, directory, mountedOn: place)
            }
            let absolute = Path.absolute(place)
            guard absolute != "/" else { return }
            place = URL(filePath: absolute).deletingLastPathComponent().path(percentEncoded: false)
            if place.count > 1, place.hasSuffix("/") { place.removeLast() }
        }
    }

    private func notMounted(
        _ text: String, _ directory: String, mountedOn place: String
    ) -> CommandFailure {
        let command = StateLocator.mountCommand(
            directory, StateInspection.unmounted(directory).source)
        return CommandFailure(
            what: "restore \(text)",
            why:
                "the state \(directory) is not mounted, and what is restored becomes a file of the mount",
            remedy:
                "run `\(command)` first; `apus trash list \(place)` shows "
                + "what is in its trash")
    }

    private func find(
        named name: String, _ daemons: Daemons
    ) async throws -> (target: Daemons.Target, path: String) {
        var found: [(target: Daemons.Target, path: String)] = []
        try await daemons.targets(ofPathsOrAll: []).forEachMount { target in
            var paths: Set<String> = []
            try await target.client.trash(below: "") { page in
                for item in page.items where item.path.split(separator: "/").last ?? "" == name {
                    paths.insert(item.path)
                }
            }
            found += paths.sorted().map { (target, $0) }
        }
        guard let first = found.first else {
            throw CommandFailure(
                what: "find \(name) in the trash", why: "no file of that name is in it",
                remedy: "`apus trash list` shows what is in it")
        }
        guard found.count == 1 else {
            let shown = found.prefix(5).map { "\($0.target.mountPoint)/\($0.path)" }
            throw CommandFailure(
                what: "find \(name) in the trash",
                why: "\(found.count) files of that name are in it: "
                    + shown.joined(separator: ", ") + (found.count > 5 ? ", …" : ""),
                remedy: "name one with its folder")
        }
        return first
    }
}
