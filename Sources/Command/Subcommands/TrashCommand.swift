import ArgumentParser

struct TrashCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trash",
        abstract: "Lists or brings back files that were deleted on the remote or lost a conflict.",
        discussion: """
            A file that is deleted on the remote, or given up with `apus resolve`, and whose bytes are \
            all on this machine, is kept in the state directory for 30 days; the oldest are removed \
            earlier if these files take more than a tenth of the cache.

            EXAMPLES:
              apus trash list ~/Cloud/Photos
              apus trash restore ~/Cloud/Photos/a.jpg
              apus trash restore ~/Cloud/Photos
            """,
        subcommands: [TrashListCommand.self, TrashRestoreCommand.self])
}
