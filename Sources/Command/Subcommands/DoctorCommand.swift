import ArgumentParser
import Control

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks whether this machine has all that mounts need.",
        discussion: """
            Looks at FUSE, the kernel, libraries, the limit of open files, the disk of the state \
            directories, files with credentials, rclone, and mounts whose daemon is dead. Each line \
            begins with good, note (it works, with less than there could be) or bad, and says what to \
            do. Nothing is changed, and no remote is asked.

            Exit status: 0 if nothing is bad, 1 otherwise, 2 for bad usage.

            EXAMPLES:
              apus doctor
              apus doctor --json
            """)

    @Flag(help: "Print JSON: a list with an object for each line.")
    var json = false

    func run() throws {
        let table = try MountTable.current()
        let diagnoses =
            MachineDiagnoses.all + StateDiagnoses.all(in: table) + [RcloneDiagnosis.current]
            + MountDiagnoses.all(in: table)
        if json {
            try Console.printJSON(diagnoses)
        } else {
            diagnoses.forEach { Console.printLine($0.line) }
        }
        let bad = diagnoses.filter { $0.verdict == .bad }
        guard let first = bad.first else { return }
        throw CommandFailure(
            what: "find everything in order",
            why: counted(bad.count, "line is", "lines are") + " bad, the first: \(first.subject)",
            remedy: first.remedy)
    }
}
