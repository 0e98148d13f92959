import Engine
import Foundation
import Glibc
import ProviderConformance
import TestBytes
import TestServer
import Testing

@testable import ProviderRclone
@testable import ProviderSupport
@testable import ProviderWebDAV

/// rclone as users have it, over backends that need no server.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RcloneTests {
    /// What no remote here can do, and why.
    private var options: ConformanceOptions {
        var options = ConformanceOptions()
        options.entriesOfSeveralPages = 30
        // Large enough for an upload to be staged.
        options.bytesOfSeveralPieces = 9 << 20
        // The remote control speaks JSON, so names are UTF-8.
        options.keepsAnyBytesInNames = false
        // rclone writes control characters as such pictures.
        options.refusedNames = ["\u{241B}_", "\u{241B}"]
        // The remote control gives a listing whole.
        options.listsInPages = false
        // Hashes of these backends cost a read of the file, so only size and time tell.
        options.tellsVersionsOfOneTime = false
        // The remote control sets no times of directories.
        options.keepsModifiedOfDirectories = false
        // The disk below takes paths of 4,095 bytes, and encryption makes them longer.
        options.pathBytesMax = 1_800
        return options
    }

    @Test(arguments: ProviderConformance.cases)
    func `a plain remote keeps the contract`(testCase: ProviderConformance.Case) async throws {
        try await check(testCase, remote: "plain:", options: options)
    }

    @Test(arguments: ProviderConformance.cases)
    func `an encrypted remote keeps the contract`(
        testCase: ProviderConformance.Case
    ) async throws {
        var options = options
        // Encryption makes names longer than the directory below takes.
        options.refusedNames.insert(String(repeating: "x", count: 255))
        try await check(testCase, remote: "crypt:", options: options)
    }

    /// Directories are but parts of names there, nothing is renamed, and directories move object by
    /// object.
    @Test(arguments: ProviderConformance.cases)
    func `a remote of buckets keeps the contract`(
        testCase: ProviderConformance.Case
    ) async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        var options = options
        // The command that sets times has a memory of its own.
        options.setsModifiedAlone = false
        try await ProviderConformance(options: options) {
            let memory = try await RcloneProvider.connect(
                "memory:", world: remotes.world, environment: remotes.environment)
            var input = RcloneInput()
            input.fs = "memory:bucket"
            input.remote = ""
            let _: RcloneNothing = try await memory.remote.client.call(
                "operations/mkdir", input)
            return try await RcloneProvider.open(
                "memory:bucket", memory.remote.client, spool: memory.spool,
                logger: remotes.world.logger)
        }.run(testCase)
    }

    private func check(
        _ testCase: ProviderConformance.Case, remote: String, options: ConformanceOptions
    ) async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        try await ProviderConformance(options: options) {
            try await RcloneProvider.connect(
                remote, world: remotes.world, environment: remotes.environment)
        }.run(testCase)
    }

    /// A backslash is a slash there, and a listing has no control character but tabs and line ends.
    @Test func `a name that the remote would not keep is refused for good`() async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        try await ObjectStore.with(.seaweedFS) { store in
            let environment = remotes.environment.merging(store.rcloneEnvironment) { $1 }
            let provider = try await RcloneProvider.connect(
                "store:\(ObjectStore.bucket)", world: remotes.world, environment: environment)
            for name in ["tab\tend\n", "plain"] { try await Self.write(name, to: provider) }
            for name in ["a\\b", "a\\", "\\", "a\u{1}b", "a\t\u{1}"] {
                await #expect(throws: ProviderError.self, "\(name)") {
                    try await Self.write(name, to: provider)
                }
                await #expect(throws: ProviderError.self, "\(name)") {
                    try await provider.createDirectory(Self.key(name), attributes: Self.attributes)
                }
            }
            let refused = await #expect(throws: ProviderError.self) {
                try await Self.write("b\\", to: provider)
            }
            #expect(refused?.kind == .unsupported)
            #expect(refused?.remedy == "rename it, then it is sent")
            let plain = try await provider.stat(Self.key("plain"))
            await #expect(throws: ProviderError.self) {
                try await provider.move(
                    Self.key("plain"), etag: plain.etag, to: Self.key("plain\\"), base: .absent)
            }
            let left = try store.python(
                "for o in s3.list_objects_v2(Bucket=bucket).get('Contents', []): print(ascii(o['Key']))"
            )
            #expect(left.split(separator: "\n").sorted() == ["'plain'", "'tab\\tend\\n'"])
        }
    }

    private static let attributes = ObjectAttributes(
        modified: Timestamp(seconds: 7), mode: 0o600)

    private static func write(_ name: String, to provider: RcloneProvider) async throws {
        _ = try await provider.write(
            key(name), from: ConformanceSource(bytes: [1]), attributes: attributes, base: .absent,
            session: UntrackedUpload())
    }

    private static func key(_ name: String) throws -> ObjectKey {
        ObjectKey([try #require(FileName(name))])
    }

    @Test func `rclone is started again when it dies, and ends with its provider`() async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        var provider: RcloneProvider? = try await RcloneProvider.connect(
            "plain:", world: remotes.world, environment: remotes.environment)
        let first = try #require(provider?.remote.client.daemon.keeper.process)
        #expect(kill(first, SIGKILL) == 0)
        let found = try await eventually("rclone answers again") {
            try await provider?.stat(.root)
        }
        #expect(found.kind == .directory)
        let second = try #require(provider?.remote.client.daemon.keeper.process)
        #expect(second != first)
        let directory = try #require(provider?.remote.client.daemon.directory.path)
        provider = nil
        _ = try await eventually("rclone and its directory are gone") {
            kill(second, 0) != 0 && access(directory, F_OK) != 0 ? true : nil
        }
    }

    /// Method: the process is stopped, so that it takes connections and answers on none.
    @Test func `rclone is killed and started again when it hangs`() async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let provider = try await RcloneProvider.connect(
            "plain:", world: remotes.world, environment: remotes.environment)
        let key = ObjectKey([try #require(FileName("file"))])
        let first = try #require(provider.remote.client.daemon.keeper.process)
        #expect(kill(first, SIGSTOP) == 0)
        _ = try await eventually("each of its threads stands still") {
            Program.standsStill(first) ? true : nil
        }
        // It returns at all: a call has no deadline of its own.
        await #expect(throws: ProviderError.self) { try await provider.stat(key) }
        let found = try await eventually("rclone answers again") { try await provider.stat(.root) }
        #expect(found.kind == .directory)
        #expect(provider.remote.client.daemon.keeper.process != first)
    }

    @Test func `a file of unknown size is not shown, and its name not written to`() async throws {
        try await ScriptedServer.run { request, connection in
            let page = "<a href=\"doc.txt\">doc.txt</a>"
            let body = request.target.hasSuffix("/") ? page : "important"
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n"
                    + (request.method == "HEAD" ? "" : body))
            connection.hangUp()
        } _: { server in
            let remotes = try RcloneRemotes()
            defer { remotes.remove() }
            // It then asks nobody for the size of each file.
            try remotes.add(
                "[web]\ntype = http\nurl = http://127.0.0.1:\(server.port)/\nno_head = true")
            let provider = try await RcloneProvider.connect(
                "web:", world: remotes.world, environment: remotes.environment)
            #expect(try await provider.entries(of: .root).next().objects.isEmpty)
            let key = ObjectKey([try #require(FileName("doc.txt"))])
            for call in [
                { _ = try await provider.stat(key) },
                { try await provider.delete(key, kind: .file, etag: ETag("0-0--")) },
                {
                    _ = try await provider.createDirectory(
                        key,
                        attributes: ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o755))
                },
            ] {
                let error = await #expect(throws: ProviderError.self) { try await call() }
                #expect(error?.kind == .unsupported && error?.remedy != nil)
                #expect(error?.reason.contains("the size of \"doc.txt\"") == true)
            }
        }
    }

    @Test func `a remote that is not there says so`() async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        for (name, words) in [("nosuch:", "nosuch"), ("plain:missing", "not found")] {
            let error = await #expect(throws: SourceError.self) {
                _ = try await RcloneProvider.connect(
                    name, world: remotes.world, environment: remotes.environment)
            }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
    }

    @Test func `what a program says that does not start is told in one bounded line`() async throws
    {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let programs = "\(remotes.base)/programs"
        try Files.makeDirectory(programs)
        let script = """
            #!/bin/sh
            printf '\\033[31mno such\\tflag\\007 \\302\\2332J%01000d\\n' 7 >&2
            exit 1
            """
        try Files.write(Array(script.utf8), to: "\(programs)/rclone")
        #expect(chmod("\(programs)/rclone", 0o755) == 0)
        var environment = remotes.environment
        environment["PATH"] = "\(programs):/usr/bin:/bin"
        let error = await #expect(throws: SourceError.self) {
            _ = try await RcloneProvider.connect(
                "plain:", world: remotes.world, environment: environment)
        }
        let problem = try #require(error).problem
        #expect(problem.hasPrefix("rclone does not start: [31mno such flag 2J000"), "\(problem)")
        #expect(problem.count < 600)
    }

    @Test func `a password that is corrected in rclone's configuration is used at once`()
        async throws
    {
        func account(_ password: String) -> WebDAVServer.Account {
            WebDAVServer.Account(scheme: .basic, user: "me", password: password)
        }
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        try await WebDAVServer.with(.apache, account: account("old")) { server in
            func configure(_ password: String) throws {
                try remotes.add(
                    """
                    [dav]
                    type = webdav
                    url = \(server.url)
                    user = me
                    pass = \(try remotes.obscure(password))
                    """)
            }
            try configure("old")
            let provider = try await RcloneProvider.connect(
                "dav:", world: remotes.world, environment: remotes.environment)
            try server.change(to: account("new"))
            let error = await #expect(throws: ProviderError.self) {
                try await provider.entries(of: .root).next()
            }
            #expect(error?.kind == .unauthorized)
            try configure("a new one")
            try server.change(to: account("a new one"))
            #expect(try await provider.entries(of: .root).next().objects.isEmpty)
        }
    }

    @Test func `nothing about rclone can be seen on its command line`() async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let provider = try await RcloneProvider.connect(
            "plain:", world: remotes.world, environment: remotes.environment)
        let daemon = provider.remote.client.daemon
        let process = try #require(daemon.keeper.process)
        let line = try String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
        #expect(line.hasSuffix("/rclone\0rcd\0"))
        var status = Glibc.stat()
        #expect(lstat(daemon.directory.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test func `an encrypted remote is mounted, and rclone dies with a killed daemon`()
        async throws
    {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let point = "\(remotes.base)/mount"
        let state = "\(remotes.base)/state"
        let file = "\(point)/folder/file"
        try Files.makeDirectory(point)
        try await apus(["mount", "rclone:crypt:", point, "--state-dir", state], remotes)
        defer { _ = try? Program.run("fusermount3", "-uz", point) }

        let bytes = TestBytes.random(9_000_000)
        try Files.makeDirectory("\(point)/folder")
        try Files.write(bytes, to: file)
        try await apus(["sync", point], remotes)
        let stored = try FileManager.default.subpathsOfDirectory(atPath: "\(remotes.base)/secret")
        #expect(stored.count == 2 && stored.allSatisfy { !$0.contains("file") })
        try await apus(["evict", file], remotes)
        #expect(try Files.read(file) == bytes)

        let daemon = try daemon(of: state)
        let rclone = try #require(Self.children(of: daemon).first)
        #expect(kill(daemon, SIGKILL) == 0)
        _ = try await eventually("rclone is gone") { kill(rclone, 0) != 0 ? true : nil }
    }

    @Test func `nothing is left in TMPDIR by an unmount, a failed mount or Ctrl-C`() async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let point = "\(remotes.base)/mount"
        let state = ["--state-dir", "\(remotes.base)/state"]
        try Files.makeDirectory(point)
        defer { _ = try? Program.run("fusermount3", "-uz", point) }

        try await apus(["mount", "rclone:plain:", point] + state, remotes)
        #expect(try remotes.directories.count == 1)
        try await apus(["unmount", point], remotes)
        #expect(try remotes.directories == [])

        let failed = try apusStarted(["mount", "rclone:plain:missing", point] + state, remotes)
        #expect(try failed.wait().status == 1)
        #expect(try remotes.directories == [])

        let mounted = try apusStarted(
            ["mount", "--foreground", "rclone:plain:", point] + state, remotes)
        _ = try await eventually("it is mounted") {
            try Files.mountTable().contains(point) ? true : nil
        }
        mounted.signal(SIGINT)
        #expect(try mounted.wait().status == 0)
        #expect(try remotes.directories == [])
    }

    @Test func `nothing is left in TMPDIR by Ctrl-C while the remote gives no answer`()
        async throws
    {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let port = try LocalSocket.freePorts(1)[0]
        let listener = try LocalSocket.listen(port)
        defer { close(listener) }
        try remotes.add(
            """
            [silent]
            type = webdav
            url = http://127.0.0.1:\(port)
            """)
        let point = "\(remotes.base)/mount"
        try Files.makeDirectory(point)
        let mounting = try apusStarted(
            [
                "mount", "--foreground", "rclone:silent:", point, "--state-dir",
                "\(remotes.base)/state",
            ], remotes)
        // rclone has been asked to open the remote by then.
        let connection = accept(listener, nil, nil)
        defer { close(connection) }
        #expect(try remotes.directories.count == 1)
        mounting.signal(SIGINT)
        #expect(try mounting.wait().status == 130)
        #expect(try remotes.directories == [])
    }

    @Test func `what a killed mount left is removed by the next one, and of a living one nothing`()
        async throws
    {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let points = (0..<3).map { "\(remotes.base)/mount\($0)" }
        let states = (0..<3).map { "\(remotes.base)/state\($0)" }
        defer {
            for point in points {
                _ = try? apusStarted(["unmount", "--now", point], remotes).wait()
                _ = try? Program.run("fusermount3", "-uz", point)
            }
        }
        func mount(_ number: Int) async throws {
            try Files.makeDirectory(points[number])
            try await apus(
                ["mount", "rclone:plain:", points[number], "--state-dir", states[number]], remotes)
        }
        try await mount(0)
        let living = try remotes.directories
        try await mount(1)
        let left = try remotes.directories.subtracting(living)
        #expect(living.count == 1 && left.count == 1)
        let daemon = try daemon(of: states[1])
        #expect(kill(daemon, SIGKILL) == 0)
        _ = try await eventually("the daemon is gone") {
            MountedFolder.isRunning(daemon) ? nil : true
        }
        #expect(try remotes.directories == living.union(left))

        try await mount(2)
        let now = try remotes.directories
        #expect(now.isSuperset(of: living) && now.isDisjoint(with: left) && now.count == 2)
        try Files.write(Array("alive".utf8), to: "\(points[0])/file")
        try await apus(["sync", points[0]], remotes)
    }

    private func daemon(of state: String) throws -> pid_t {
        let line = String(decoding: try Files.read("\(state)/lock"), as: UTF8.self)
        return try #require(line.split(separator: "\n").first.flatMap { pid_t($0) })
    }

    private func apusStarted(_ arguments: [String], _ remotes: RcloneRemotes) throws -> Program {
        try Program.start([Apus.path] + arguments, environment: remotes.environment)
    }

    private func apus(_ arguments: [String], _ remotes: RcloneRemotes) async throws {
        let result = try apusStarted(arguments, remotes).wait()
        try #require(result.status == 0, Comment(rawValue: result.description))
    }

    private static func children(of parent: pid_t) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { process in
            let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            let fields = text?.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && pid_t(fields[1]) == parent
        }
    }

    /// Tries again until there is a value; a failure means not yet.
    private func eventually<Value>(
        _ what: String, _ body: () async throws -> Value?
    ) async throws -> Value {
        for _ in 0..<600 {
            if let value = try? await body() { return value }
            try await Task.sleep(for: .milliseconds(50))
        }
        return try #require(nil as Value?, "\(what), not within 30 s")
    }
}
