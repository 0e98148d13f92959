import Glibc
import Testing

extension MountedTests {
    @Suite(.enabled(if: geteuid() == 0, "only root has other users"), .timeLimit(.minutes(2)))
    struct `The mount of another user` {
        @Test func `is no error for commands without a path`() throws {
            try MountedFolder.with { other in
                let base = try Files.makeTemporaryDirectory("u")
                defer { _ = try? Program.run("rm", "-rf", "--one-file-system", base) }
                for name in ["device", "cloud", "mount", "states"] {
                    try Files.makeDirectory("\(base)/\(name)")
                }
                let user = try OrdinaryUser(directory: "\(base)/device")
                let point = "\(base)/mount"
                for path in [base, "\(base)/cloud", point, "\(base)/states"] {
                    try CallError.check(chown(path, user.userID, user.userID), "chown \(path)")
                }
                guard user.canRunApus else { return }
                func run(_ words: String...) throws -> Program.Result {
                    try user.run(
                        words, environment: ["XDG_STATE_HOME": "\(base)/states", "HOME": base])
                }

                let table = try run("cat", "/proc/self/mountinfo")
                #expect(table.output.contains(" \(other.point) "), "the user sees the mount")
                try run(Apus.path, "mount", "folder:\(base)/cloud", point).expectSuccess()
                defer { _ = try? run(Apus.path, "unmount", "--now", point) }
                try run("sh", "-c", "printf x > \"$0/new\"", point).expectSuccess()
                let sync = try run(Apus.path, "sync")
                #expect(sync.status == 0 && sync.output.hasPrefix("\(point): "), "\(sync)")
                #expect(!sync.description.contains(other.point), "\(sync)")
                #expect(try Files.read("\(base)/cloud/new") == Array("x".utf8))

                try run(Apus.path, "unmount", point).expectSuccess()
                let check = try run(Apus.path, "check")
                #expect(check.status == 0 && check.output.contains("\(base)/states/"), "\(check)")
                #expect(!check.description.contains(other.state), "\(check)")
            }
        }
    }
}
