import ArgumentParser
import Control
import Engine
import Foundation

struct TrashListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists files kept after a deletion on the remote or a conflict.",
        discussion: """
            Each with the time of its deletion, the days for which it is kept, its size, and its \
            former path, in the order of deletion. A path need not exist any more. Without a path, \
            this applies to every mount. A state that is not mounted is listed as a whole.

            EXAMPLES:
              apus trash list
              apus trash list ~/Cloud/Photos
              apus trash list --json /var/lib/apus/cloud-1f9a6c2e
            """)

    @Argument(
        help: "Former files and folders, with everything below, or an unmounted state.",
        completion: .file())
    var path: [String] = []

    @Flag(help: "Print JSON: a list with an object for each file.")
    var json = false

    func run() async throws {
        let daemons = try Daemons()
        var list = TrashList(isJSON: json)
        var failure: (any Error)?
        if path.isEmpty {
            do {
                try await daemons.targets(ofPathsOrAll: []).forEachMount {
                    try await list.show($0, below: "")
                }
            } catch {
                failure = error
            }
        }
        for text in path {
            guard let place = try place(text, daemons) else {
                try list.show(stateOf: text)
                continue
            }
            try await list.show(place.target, below: place.path)
        }
        list.finish()
        if let failure { throw failure }
    }

    /// - Returns: nil for a path that is in no mount, or in one without a daemon.
    private func place(
        _ text: String, _ daemons: Daemons
    ) throws -> (target: Daemons.Target, path: String)? {
        do {
            let place = try daemons.formerPlace(text)
            _ = try place.target.client
            return place
        } catch let error as ControlError
            where error.kind == .missing || error.kind == .unreachable
        {
            return nil
        }
    }
}

/// Prints the files in the trash of some mounts and states.
private struct TrashList {
    let isJSON: Bool
    private var json = JSONListWriter()
    private var isEmpty = true
    private let now = Date()

    init(isJSON: Bool) {
        self.isJSON = isJSON
    }

    mutating func show(_ target: Daemons.Target, below path: String) async throws {
        var pages = Pages(title: target.mountPoint)
        try await target.client.trash(below: path) { show($0.items, &pages) }
    }

    /// - Throws: The reason why there is no such state.
    mutating func show(stateOf text: String) throws {
        let directory = try StateLocator.directory(for: text, to: "list the trash of")
        let items: [TrashItem]
        do {
            items = try StateDatabase.trash(ofFileAt: "\(directory)/\(StateDatabase.name)")
                .map { TrashItem($0) }
        } catch {
            throw CommandFailure(ControlError(error).problem)
        }
        var pages = Pages(title: directory)
        show(items, &pages)
    }

    private struct Pages {
        let title: String
        var isBegun = false
    }

    private mutating func show(_ items: [TrashItem], _ pages: inout Pages) {
        if items.isEmpty { return }
        isEmpty = false
        if isJSON { return json.write(items) }
        if !pages.isBegun { Console.printLine("\(pages.title)\n\(TrashItem.head)") }
        pages.isBegun = true
        Console.printLine(items.map { $0.line(now: now) }.joined(separator: "\n"))
    }

    func finish() {
        if isJSON { return json.finish() }
        if isEmpty { Console.printLine("Nothing is in the trash.") }
    }
}
