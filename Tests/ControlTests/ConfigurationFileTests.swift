import Foundation
import Testing

/// The configuration file of a user, as `apus mounts` and `apus mount` read it.
@Suite(.timeLimit(.minutes(10)))
struct ConfigurationFileTests {
    private struct Report: Decodable {
        let name: String
        let source: String
        let path: String
        let file: String
        let condition: String
    }

    private let directory: TemporaryDirectory
    private let file: String

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.path + "/config/apus/config.toml"
        try FileManager.default.createDirectory(
            atPath: directory.path + "/config/apus", withIntermediateDirectories: true)
    }

    private func write(_ text: String, mode: mode_t = 0o644) throws {
        try Data(text.utf8).write(to: URL(filePath: file))
        chmod(file, mode)
    }

    private func apus(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run(
            ["HOME=\(directory.path)", "XDG_CONFIG_HOME=\(directory.path)/config", Program.apus]
                + arguments)
    }

    private func mounts() async throws -> [Report] {
        let outcome = try await apus("mounts", "--json")
        #expect(outcome.status == 0, "\(outcome)")
        return try JSONDecoder().decode([Report].self, from: Data(outcome.output.utf8))
    }

    /// Checks that the file is refused in one line with these words, by each command that needs it.
    private func expectRefusal(
        of text: String, line: Int, naming words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try write(text)
        for arguments in [["mounts"], ["mount", "photos"]] {
            let outcome = try await Program.run(
                [
                    "HOME=\(directory.path)", "XDG_CONFIG_HOME=\(directory.path)/config",
                    Program.apus,
                ]
                    + arguments)
            #expect(
                outcome.status == 1 && outcome.output == "", "\(outcome)",
                sourceLocation: sourceLocation)
            #expect(
                outcome.complaint.hasPrefix("apus: read \(file), line \(line): "), "\(outcome)",
                sourceLocation: sourceLocation)
            #expect(
                outcome.complaint.split(separator: "\n").count == 1,
                sourceLocation: sourceLocation)
            for word in words {
                #expect(
                    outcome.complaint.contains(word), "\(outcome)", sourceLocation: sourceLocation)
            }
            #expect(!outcome.complaint.contains("hush"), sourceLocation: sourceLocation)
        }
    }

    @Test func `mounts are listed by name, with absolute paths`() async throws {
        try write(
            """
            [defaults]
            cache-size = "20GiB"

            [mount.work]
            source = "folder:cloud?latency=20ms"
            path = "Work"
            [mount.photos]
            source = "webdav+https://cloud.example.org/dav/"
            path = "~/Photos"
            refresh = "1m"
            [mount."a.b-c_1"]
            source = "folder:~/my cloud"
            path = "/mnt/a"
            """)
        let reports = try await mounts()
        #expect(reports.map(\.name) == ["a.b-c_1", "photos", "work"])
        #expect(
            reports.map(\.path) == ["/mnt/a", "\(directory.path)/Photos", "\(directory.path)/Work"])
        #expect(
            reports.map(\.source) == [
                "folder:\(directory.path)/my cloud", "webdav+https://cloud.example.org/dav",
                "folder:\(directory.path)/cloud?latency=20000us",
            ])
        #expect(reports.allSatisfy { $0.condition == "unmounted" && $0.file == file })
        let text = try await apus("mounts").output
        #expect(text.contains("photos: not mounted\n  webdav+https://cloud.example.org/dav on"))
    }

    @Test func `without a file there are no mounts, and the place of the file is told`()
        async throws
    {
        #expect(try await mounts().isEmpty)
        #expect(try await apus("mounts").output.contains(file))
        let outcome = try await apus("mount", "photos")
        #expect(outcome.status == 1)
        #expect(outcome.complaint.contains("there are no named mounts in \(file)"))
    }

    @Test func `an unknown name is told with those that exist`() async throws {
        try write(
            """
            [mount.photos]
            source = "folder:/x"
            path = "~/p"
            [mount.work]
            source = "folder:/y"
            path = "~/w"
            """)
        let outcome = try await apus("mount", "photo")
        #expect(outcome.status == 1)
        #expect(
            outcome.complaint
                == "apus: mount photo: no mount has this name, only photos, work; did you mean photos?\n"
        )
        #expect(try await apus("mount", "zzz").complaint.contains("[mount.zzz] to \(file)"))
        #expect(try await apus("mount", "a b").complaint.contains("a name has at most 64 letters"))
    }

    /// Goal: an option that `apus mount` gets later is not forgotten here.
    @Test func `every option of apus mount has its own name in the file and in the manual`()
        async throws
    {
        let values = [
            "bandwidth": "1MiB:2MiB", "ca-file": "/f", "cache-size": "1GiB", "gid": "0",
            "exclude": "*.tmp", "keep-free": "10%", "log-format": "json", "log-level": "debug",
            "memory": "64MiB", "offline": "wait", "refresh": "1m", "scanner": "own-indexer",
            "state-dir": "/s",
            "stop-timeout": "2m", "uid": "0", "umask": "027", "webhook": "127.0.0.1:8399",
            "webhook-token-file": "/t",
        ]
        let flags: Set = ["allow-other", "contain-symlinks", "exec", "read-only"]
        let names = try await MountOptionNames.inHelp().filter { $0 != "foreground" }
        let reversed = flags.map { "no-\($0)" }
        #expect(
            Set(names) == flags.union(values.keys).union(reversed), "give the new option a value")
        let page = try String(contentsOfFile: Self.page, encoding: .utf8)
        let lines = (Array(flags) + values.keys).map { name in
            #expect(page.contains(name.replacing("-", with: #"\-"#)), "\(name)")
            return "\(name) = " + (values[name].map { "\"\($0)\"" } ?? "true")
        }
        let mount = "[mount.photos]\nsource = \"folder:/x\"\npath = \"/y\"\n"
        try write("[defaults]\n" + lines.joined(separator: "\n") + "\n" + mount)
        #expect(try await mounts().count == 1)
        try write(mount + "exclude = [\".DS_Store\", \"~$*\"]\nscanner = [\"a\", \"b\"]")
        #expect(try await mounts().count == 1)
        try await expectRefusal(
            of: mount + "scanner = [\"a\", \"/usr/bin/b\"]", line: 4,
            naming: "\"/usr/bin/b\" is not the name of a program")
        try write(mount + lines.joined(separator: "\n"))
        #expect(try await mounts().count == 1)
        try write(mount + flags.map { "no-\($0) = true" }.joined(separator: "\n") + "\nuid = 0")
        #expect(try await mounts().count == 1)
    }

    private static let page = URL(filePath: #filePath)
        .appending(path: "../../../packaging/man/apus.5").standardized.path()

    private static let start = "[mount.photos]\nsource = \"folder:/x\"\npath = \"/y\"\n"

    @Test func `keys and tables that are unknown are refused with their lines`() async throws {
        let start = Self.start
        try await expectRefusal(
            of: start + "# a comment\ncache-sise = \"1GiB\"", line: 5,
            naming: "the mount photos has the unknown key \"cache-sise\"; did you mean cache-size?")
        try await expectRefusal(
            of: start + "foreground = true", line: 4, naming: "the unknown key \"foreground\"")
        try await expectRefusal(
            of: start + "[default]\nrefresh = \"1m\"", line: 4, naming: "did you mean [defaults]?")
        try await expectRefusal(
            of: "[defaults]\npath = \"/x\"", line: 2, naming: "[defaults] has the unknown key")
        try await expectRefusal(
            of: start + "mount.photos.nonsense = 1", line: 4, naming: "unknown key \"mount\"")
    }

    @Test func `the lines are right with a byte order mark and line ends of Windows`() async throws
    {
        let text = "\u{FEFF}" + Self.start + "read-only = 5"
        try await expectRefusal(
            of: text.replacing("\n", with: "\r\n"), line: 4, naming: "neither true nor false")
    }

    @Test func `values of a wrong type are refused with their lines`() async throws {
        let start = Self.start
        for (line, words) in [
            ("read-only = \"yes\"", "read-only is neither true nor false"),
            ("cache-size = 20", "cache-size is not a text; write it in quotes"),
            ("refresh = true", "refresh is not a text"),
            ("umask = 27", "umask is not a text"),
            ("state-dir = 5", "state-dir is not a path"),
            ("cache-size = \"much\"", "\"much\" is not a size"),
            ("cache-size = 20GiB", "not valid TOML; texts stand in quotes"),
            ("offline = \"sulk\"", "write fail or wait"), ("uid = \"no-such-user\"", "no user"),
            ("exclude = [\"a\", 1]", "exclude is not a text"),
            ("exclude = \"!a\"", "the pattern \"!a\" is refused"),
            ("exec = true\nno-exec = true", "has both exec and no-exec"),
        ] {
            try await expectRefusal(
                of: start + line, line: line.contains("\n") ? 5 : 4, naming: words)
        }
        try await expectRefusal(
            of: "# a\n\n[mount.photos]\npath = \"/y\"", line: 3, naming: "photos has no source")
        try await expectRefusal(
            of: "[mount.photos]\nsource = \"folder:/x\"", line: 1, naming: "photos has no path")
        try await expectRefusal(
            of: "[mount.photos]\nsource = \"foldr:/x\"\npath = \"/y\"", line: 2,
            naming: "unknown kind of source")
        try await expectRefusal(
            of: "[mount.photos]\nsource = \"folder:/x\"\npath = \"~other/y\"", line: 3,
            naming: "the path of the mount photos is not one")
        try await expectRefusal(
            of: "mount = 5", line: 1, naming: "mount is not a table; write [mount.NAME]")
        try await expectRefusal(
            of: "\n[mount]\nsource = \"folder:/x\"", line: 3, naming: "write [mount.NAME]")
        try await expectRefusal(
            of: "[mount.\"my photos\"]\nsource = \"folder:/x\"", line: 1,
            naming: "\"my photos\" is not a name of a mount")
    }

    @Test func `names and keys that are given twice are refused with both lines`() async throws {
        try await expectRefusal(
            of: Self.start + "[mount.work]\n" + Self.start, line: 5,
            naming: "the mount photos is given twice, first in line 1")
        try await expectRefusal(
            of: Self.start + "path = \"/z\"", line: 4,
            naming: "mount.photos.path is given twice, first in line 3")
    }

    @Test func `secrets are refused without a word of them, and their place is told`()
        async throws
    {
        for key in ["password", "secret_access_key", "bearer", "api-token", "username"] {
            try await expectRefusal(
                of: Self.start + "\(key) = \"hush\"", line: 4,
                naming: "credentials do not belong to a mount", "[[credentials]]", "~/.netrc")
        }
        try await expectRefusal(
            of: "[mount.photos]\nsource = \"webdav+https://me:hush@host/dav\"\npath = \"/y\"",
            line: 2)
    }

    @Test func `a file that others may change is refused, one that they may read is not`()
        async throws
    {
        try write(Self.start, mode: 0o664)
        let outcome = try await apus("mount", "photos")
        #expect(outcome.status == 1)
        #expect(outcome.complaint.contains("other users may change it; run"))
        #expect(outcome.complaint.contains("chmod go-w \(file)"))
        try write(Self.start, mode: 0o644)
        #expect(try await mounts().count == 1)
    }

    @Test func `credentials and texts of several lines do not disturb the lines`() async throws {
        try await expectRefusal(
            of: """
                [[credentials]]
                source = "webdav+https://cloud.example.org/dav"
                username = "me"
                password = '''
                [mount.photos]
                path = "hush"
                '''
                [[credentials]]
                source = "webdav+https://other.example.org"
                bearer = "hush # [" # ]
                [mount.photos]
                source = "folder:/x"
                path = [
                  "a", # ]
                  "b"]
                """, line: 13, naming: "path of the mount photos is not a text")
    }
}
