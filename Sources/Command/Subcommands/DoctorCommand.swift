import ArgumentParser
import Control
import Providers

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks whether this machine has all that mounts need.",
        discussion: """
            Looks at FUSE, the kernel, libraries, the limit of open files, the disk of the state \
            directories, files with credentials, rclone, mounts whose daemon is dead, and each source \
            of the configuration file or those given: whether it can be opened, and whether its \
            server's clock agrees with this machine's. Each line begins with good, note (it works, with \
            less than there could be) or bad, and says what to do. Nothing is changed, here or on a \
            remote.

            With --bundle, writes a tar archive for a bug report: versions, the lines without names, \
            numbers of each mount, and the messages of the logs without their values. It holds no \
            secrets and no names of files.

            Exit status: 0 if nothing is bad, 1 otherwise, 2 for bad usage.

            EXAMPLES:
              apus doctor
              apus doctor --json
              apus doctor webdav+https://cloud.example.org/dav photos
              apus doctor --bundle report.tar
            """)

    @Argument(
        help: """
            Sources, or names of mounts in the configuration file, to look at. (default: all of the \
            configuration file)
            """,
        completion: .configuredMounts)
    var source: [String] = []

    @Flag(help: "Print JSON: a list with an object for each line.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Write a tar archive for a bug report into this new file.", valueName: "file"),
        completion: .file())
    var bundle: String?

    func run() async throws {
        let table = try MountTable.current()
        let configuration = Result { try Configuration.current() }
        let subjects = try subjects(configuration)
        let diagnoses =
            MachineDiagnoses.all + StateDiagnoses.all(in: table) + [RcloneDiagnosis.current]
            + ConfigurationDiagnosis.all(configuration) + MountDiagnoses.all(in: table)
            + (await SourceDiagnoses.all(subjects))
        if json {
            try Console.printJSON(diagnoses)
        } else {
            diagnoses.forEach { Console.printLine($0.line) }
        }
        if let bundle {
            try await SupportBundle(diagnoses, subjects, try? configuration.get(), table)
                .write(to: bundle)
        }
        let bad = diagnoses.filter { $0.verdict == .bad }
        guard let first = bad.first else { return }
        throw CommandFailure(
            what: "find everything in order",
            why: counted(bad.count, "line is", "lines are") + " bad, the first: \(first.subject)",
            remedy: first.remedy)
    }

    /// - Throws: `CommandFailure` for a source that is misspelled, or a name that no file has.
    private func subjects(
        _ configuration: Result<Configuration, any Error>
    ) throws -> [SourceDiagnoses.Subject] {
        guard source.isEmpty else {
            return try source.map { text in
                // A mount point is not needed.
                let request = try MountRequest(text, on: nil, try MountSettings.parse([]))
                return SourceDiagnoses.Subject(
                    name: text, source: request.source, caFile: request.settings.caFile)
            }
        }
        // A wrong file is a line of its own.
        return ((try? configuration.get())?.mounts ?? []).map { mount in
            SourceDiagnoses.Subject(
                name: mount.name, source: mount.source, caFile: mount.settings.caFile)
        }
    }
}
