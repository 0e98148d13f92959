import ArgumentParser
import Control

struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Resolves a conflict between a local and a remote version.",
        discussion: """
            If a file was changed on both sides, the remote version keeps the name, and the local one \
            is beside it as "name (conflict HOST DATE).ext"; `apus status` lists both. PATH is \
            either of them. The version that is given up is kept in the trash, see `apus trash`, if all \
            its bytes are on this machine and it fits: the trash has up to a tenth of the cache. The \
            output tells whether it is there.

            EXAMPLES:
              apus resolve ~/Cloud/plan.txt --keep mine     # the local version takes the name
              apus resolve ~/Cloud/plan.txt --keep theirs   # the local version is removed
              apus resolve ~/Cloud/plan.txt --keep both     # both keep their present names
            """)

    @Argument(help: "Either version.", completion: .file())
    var path: String

    @Option(help: "The version that keeps the name: mine, theirs or both.")
    var keep: Kept

    @Flag(help: "Print JSON.")
    var json = false

    enum Kept: String, ExpressibleByArgument, CaseIterable {
        case mine, theirs, both
    }

    func run() async throws {
        let (client, place) = try Daemons().place(path)
        let report = try await client.resolve(place, keep: keep.rawValue)
        if json { return try Console.printJSON(report) }
        switch keep {
        case .mine, .theirs:
            let other =
                switch report.isInTrash {
                case true?: "; the other version is in the trash"
                case false?:
                    "; the other version is not in the trash: it is empty, too large, or was not all here"
                case nil: ""
                }
            Console.printLine("Kept \(keep) as \(report.path.singleLine)\(other).")
        case .both: Console.printLine("Kept both; yours is \(report.path.singleLine).")
        }
    }
}
