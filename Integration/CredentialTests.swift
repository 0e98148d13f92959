import Glibc
import Testing

extension MountedTests {
    /// A password that changes while its server is mounted.
    @Suite(.timeLimit(.minutes(5)))
    struct `Credentials` {
        private func account(_ password: String) -> WebDAVServer.Account {
            WebDAVServer.Account(scheme: .digest, user: "me", password: password)
        }

        /// Mounts a server whose password is "old", by a configuration file.
        ///
        /// - Parameters:
        ///   - directory: Made on the server before.
        ///   - body: Gets the server, the mount, and a function that changes the password in the file.
        private func mounted(
            with directory: String? = nil,
            _ body: (WebDAVServer, MountedFolder, (String) throws -> Void) throws -> Void
        ) async throws {
            try await WebDAVServer.with(.apache, account: account("old")) { server in
                let file = "\(server.base)/apus/config.toml"
                func configure(_ password: String) throws {
                    let text = """
                        [[credentials]]
                        source = "\(server.source)"
                        username = "me"
                        password = "\(password)"
                        """
                    try Files.write(Array(text.utf8), to: file)
                    try Files.setMode(0o600, of: file)
                }
                try Files.makeDirectory("\(server.base)/apus")
                try configure("old")
                if let directory { try Files.makeDirectory("\(server.folder)/\(directory)") }
                var options = MountedFolder.Options()
                options.otherSource = server.source
                options.environment = ["XDG_CONFIG_HOME": server.base]
                try MountedFolder.with(options) { try body(server, $0, configure) }
            }
        }

        private func awaitRefusal(in folder: MountedFolder) throws {
            try eventually("the refusal is told", within: .seconds(60)) {
                try Program.require(Apus.path, "status", folder.point)
                    .contains("has refused the credentials")
            }
        }

        @Test func `a mount goes on by itself once the password is corrected in config.toml`()
            async throws
        {
            try await mounted { server, folder, configure in
                try Files.write([1], to: folder.local("before"))
                try folder.sync()
                try server.change(to: account("new"))
                try Files.write([2], to: folder.local("after"))
                try awaitRefusal(in: folder)
                try configure("new")
                try eventually("the file is on the server", within: .seconds(150)) {
                    try Files.names(in: server.folder).contains("after")
                }
                try folder.sync()
                #expect(try Files.holds([2], at: "\(server.folder)/after"))
                #expect(try folder.report().counts.failed == 0)
            }
        }

        /// Method: the mount itself asks again after five seconds, then less and less often.
        @Test func `a sync asks at once whether refused credentials are accepted`() async throws {
            try await mounted { server, folder, configure in
                #expect(try Files.names(in: folder.point) == [])
                for number in 1...3 {
                    try server.change(to: account("new \(number)"))
                    try Files.write([2], to: folder.local("file \(number)"))
                    try awaitRefusal(in: folder)
                    try Apus.expectRefusal("sync", folder.point, naming: "credentials")
                    try configure("new \(number)")
                    try folder.sync()
                    #expect(try Files.holds([2], at: "\(server.folder)/file \(number)"))
                }
            }
        }

        @Test
        func `a status with --retry asks at once whether they are accepted, and sends what waits`()
            async throws
        {
            try await mounted { server, folder, configure in
                #expect(try Files.names(in: folder.point) == [])
                try server.change(to: account("new"))
                try Files.write([2], to: folder.local("file"))
                try awaitRefusal(in: folder)
                let refused = try Apus.run("status", folder.point, "--retry")
                #expect(refused.status == 0, "\(refused)")
                #expect(refused.output.contains("has refused the credentials"), "\(refused)")
                try configure("new")
                let accepted = try Apus.run("status", "--retry", folder.point)
                #expect(accepted.status == 0, "\(accepted)")
                #expect(
                    accepted.output.hasSuffix("\nEverything is on the remote.\n"),
                    "\(accepted)")
                #expect(try Files.holds([2], at: "\(server.folder)/file"))
            }
        }

        /// Goal: a command that asks for a password, and the daemon that runs it, are gone when whoever
        /// waits on a terminal presses Ctrl-C; and that person sees what is waited for.
        @Test(arguments: ["password-command", "credential_process"])
        func `who interrupts a mount that waits for a command leaves nothing behind`(
            kind: String
        ) throws {
            var options = MountedFolder.Options()
            options.otherSource =
                kind == "password-command"
                ? "webdav+http://127.0.0.1:9" : "s3://bucket?endpoint=http://127.0.0.1:9"
            let folder = try MountedFolder(options)
            defer { folder.remove() }
            let asked = "\(folder.base)/asked"
            try #require(mkfifo(asked, 0o600) == 0)
            let command = "sleep 600 & echo $! > \(asked); wait"
            try Files.makeDirectory("\(folder.base)/apus")
            let config = "\(folder.base)/apus/config.toml"
            let text = """
                [[credentials]]
                source = "\(folder.source)"
                username = "me"
                password-command = "\(command)"
                """
            try Files.write(Array(text.utf8), to: config)
            try Files.setMode(0o600, of: config)
            let aws = "\(folder.base)/aws"
            try Files.write(Array("[default]\ncredential_process = \(command)\n".utf8), to: aws)

            let said = try Program.require(
                "python3", "-c", Self.interrupting, "\(kind) of", asked, Apus.path, "mount",
                folder.source, folder.point, "--state-dir", folder.state,
                environment: [
                    "XDG_CONFIG_HOME": folder.base, "AWS_CONFIG_FILE": aws,
                    "AWS_SHARED_CREDENTIALS_FILE": "\(folder.base)/none",
                ])
            #expect(said.contains("Waiting for \(kind) of"), "\(said)")
            let asker = try #require(pid_t(said.split(separator: "\n").last ?? ""))
            try eventually("the daemon is gone", within: .seconds(60)) { !folder.isDaemonRunning }
            try eventually("what the command has started is gone", within: .seconds(60)) {
                kill(asker, 0) != 0
            }
            #expect(!folder.isMounted)
        }

        /// Runs a command on a terminal of its own until it prints some words and writes to a pipe, presses
        /// Ctrl-C, and prints all that it has printed, then the text from the pipe.
        private static let interrupting = """
            import os, pty, sys
            words = sys.argv[1].encode()
            process, terminal = pty.fork()
            if process == 0:
                os.execv(sys.argv[3], sys.argv[3:])
            said, pressed = b'', False
            while True:
                try:
                    piece = os.read(terminal, 4096)
                except OSError:
                    piece = b''
                if not piece:
                    break
                said += piece
                if words in said and not pressed:
                    pressed = True
                    written = open(sys.argv[2], 'rb').read()
                    os.write(terminal, b'\\x03')
            os.waitpid(process, 0)
            sys.stdout.buffer.write(said + b'\\n' + written)
            """

        @Test func `an unmount with nothing to send takes no refused credentials for a failure`()
            async throws
        {
            try await mounted(with: "unseen") { server, folder, _ in
                try Files.write([1], to: folder.local("sent"))
                try folder.sync()
                try server.change(to: account("new"))
                #expect(throws: (any Error).self) {
                    try Files.names(in: folder.local("unseen"))
                }
                try awaitRefusal(in: folder)
                let said = try Program.require(Apus.path, "unmount", folder.point)
                #expect(said.contains("Everything is on the remote"))
            }
        }

        @Test func `refused credentials keep back as many changes as are waiting`() async throws {
            try await mounted { server, folder, _ in
                try Files.write([1], to: folder.local("sent"))
                try folder.sync()
                try server.change(to: account("new"))
                for name in ["a", "b", "c"] { try Files.write([1], to: folder.local(name)) }
                try awaitRefusal(in: folder)
                let changes = "3 changes (3 B) not yet on the remote, 3 could not be sent"
                let sync = try Apus.run("sync", folder.local("a"), folder.local("b"))
                #expect(sync.status == 1)
                #expect(sync.output.contains(": 2 changes (2 B)"), "\(sync)")
                #expect(sync.output.contains(", 2 could not be sent."), "\(sync)")
                #expect(sync.errors.contains("use the credentials"), "\(sync)")
                try Apus.expectRefusal(
                    "unmount", folder.point, naming: "3 items could not be sent")
                let last = try Apus.run("unmount", "--now", folder.point)
                #expect(last.status == 0, "\(last)")
                #expect(last.output == "\(changes); the next mount sends them.\n")
            }
        }
    }
}
