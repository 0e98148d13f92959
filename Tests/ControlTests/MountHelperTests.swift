import Foundation
import Testing

/// The arguments of a mount helper, as mount(8) passes them. With `-f` nothing is mounted, `-v` prints
/// the command.
@Suite(.timeLimit(.minutes(10)))
struct MountHelperTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["mount.apus", "mount.fuse.apus"] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(directory.path)/\(name)", withDestinationPath: Program.apus)
        }
    }

    private func run(
        _ arguments: [String], as name: String = "mount.apus"
    ) async throws -> Program.Outcome {
        try await Program.run(["\(directory.path)/\(name)"] + arguments)
    }

    /// Returns the options of `apus mount` that stand for some of mount(8).
    private func translation(of options: String, _ more: [String] = []) async throws -> String {
        let outcome = try await run(["folder:/x", "/mnt", "-fv"] + more + ["-o", options])
        #expect(outcome.status == 0, "\(outcome)")
        let (start, end) = ("apus mount ", "-- folder:/x /mnt\n")
        #expect(outcome.output.hasPrefix(start) && outcome.output.hasSuffix(end), "\(outcome)")
        return String(outcome.output.dropFirst(start.count).dropLast(end.count))
            .trimmingCharacters(in: .whitespaces)
    }

    @Test(arguments: [
        ("rw", ""), ("ro", "--read-only"), ("read-only", "--read-only"),
        ("rw,noexec,nosuid,nodev,user=me", "--no-exec"),
        ("_netdev,nofail,noauto,x-systemd.automount,X-mount.mkdir,comment=a", ""),
        ("defaults,users,owner,group,async,relatime,noatime", ""), ("exec,suid,dev", "--exec"),
        ("noexec,exec", "--no-exec --exec"), ("no_allow_other", "--no-allow-other"),
        ("allow_other,default_permissions", "--allow-other"),
        ("cache-size=20GiB,keep_free=5%", "--cache-size=20GiB --keep-free=5%"),
        ("exclude=.DS_Store,exclude=~$*", "--exclude=.DS_Store --exclude=~$*"),
        (#"state-dir="/a,b",ro"#, "--state-dir=/a,b --read-only"),
    ])
    func `options of mount are translated`(options: String, words: String) async throws {
        #expect(try await translation(of: options) == words)
        #expect(try await run(["folder:/x", "/mnt", "-f", "-o", options]).output == "")
    }

    @Test func `both names, the type, and options in any place are understood`() async throws {
        let words = ["-n", "folder:/x", "-o", "ro", "/mnt", "-t", "fuse.apus", "-fv", "-onoexec"]
        for name in ["mount.apus", "mount.fuse.apus"] {
            let outcome = try await run(words, as: name)
            #expect(outcome.output == "apus mount --read-only --no-exec -- folder:/x /mnt\n")
        }
    }

    /// Goal: an option that `apus mount` gets later is not forgotten here.
    @Test func `every option of apus mount has its own name, and is in the manual`() async throws {
        let values = [
            "bandwidth": "1MiB:2MiB", "log-format": "json", "log-level": "debug", "ca-file": "/f",
            "cache-size": "1GiB", "exclude": "*.tmp", "gid": "0", "keep-free": "10%",
            "memory": "64MiB",
            "offline": "wait", "refresh": "1m", "scanner": "own-indexer", "state-dir": "/s",
            "stop-timeout": "2m",
            "uid": "0", "umask": "027", "webhook": "127.0.0.1:8399",
            "webhook-token-file": "/t",
        ]
        let manual = try String(contentsOfFile: Self.page, encoding: .utf8)
        for name in try await MountOptionNames.inHelp() where name != "foreground" {
            let option = name + (values[name].map { "=\($0)" } ?? "")
            #expect(try await translation(of: option) == "--\(option)")
            let word = name.replacing("-", with: #"\-"#)
            #expect(
                name == "contain-symlinks" || name == "exec" || manual.contains(word), "\(name)")
        }
    }

    @Test(arguments: [
        ("foo=bar", "the option foo is unknown"),
        ("foreground", "the option foreground is unknown"),
        ("sync", "the option sync is unknown"), ("remount", "the option remount is unknown"),
        ("help", "the option help is unknown"),
        ("cache-size", "the option cache-size needs a value, as in cache-size=…"),
        ("read-only=yes", "the option read-only takes no value"),
        ("cache-size=1MiB", "too small for a cache"), ("offline=sulk", "write fail or wait"),
    ])
    func `wrong options are refused in one line`(options: String, reason: String) async throws {
        let outcome = try await run(["folder:/x", "/mnt", "-f", "-o", options])
        #expect(outcome.status == 1 && outcome.output == "")
        #expect(outcome.complaint.hasPrefix("apus: mount folder:/x on /mnt: "))
        #expect(outcome.complaint.contains(reason), "\(outcome)")
        #expect(outcome.complaint.split(separator: "\n").count == 1)
    }

    @Test func `unknown options are ignored with -s, wrong values are not`() async throws {
        #expect(try await translation(of: "foo=bar,ro,sync", ["-s"]) == "--read-only")
        let outcome = try await run(["folder:/x", "/mnt", "-fs", "-o", "refresh=soon"])
        #expect(outcome.status == 1)
    }

    @Test(arguments: [
        [], ["a"], ["a", "b", "c"], ["a", "b", "-o"], ["a", "b", "-z"], ["a", "b", "-N", "/n"],
    ])
    func `wrong arguments show the usage`(arguments: [String]) async throws {
        let outcome = try await run(arguments)
        #expect(outcome.status == 1)
        #expect(outcome.complaint.contains("Usage: mount.apus SOURCE DIRECTORY"))
    }

    @Test func `a failure has the exit status of mount(8)`() async throws {
        let outcome = try await run(["folder:/x", "/no/such"])
        #expect(outcome.status == 32)
        #expect(outcome.complaint.contains("there is no such folder"))
    }

    @Test func `a password in a source is not shown`() async throws {
        let source = "webdav+https://me:hush@host/dav"
        for options in ["ro", "foo"] {
            let outcome = try await run([source, "/mnt", "-fv", "-o", options])
            #expect(!(outcome.output + outcome.complaint).contains("hush"), "\(outcome)")
        }
    }

    private static let page = URL(filePath: #filePath)
        .appending(path: "../../../packaging/man/mount.apus.8").standardized.path()
}
