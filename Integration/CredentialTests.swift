import Glibc
import Testing

extension MountedTests {
    /// A password that changes while its server is mounted.
    @Suite(.timeLimit(.minutes(5)))
    struct `Credentials` {
        private func write(_ password: String, for server: WebDAVServer, to file: String) throws {
            let text = """
                [[credentials]]
                source = "\(server.source)"
                username = "me"
                password = "\(password)"
                """
            try Files.write(Array(text.utf8), to: file)
            try Files.setMode(0o600, of: file)
        }

        @Test func `a mount goes on by itself once the password is corrected in config.toml`()
            async throws
        {
            func account(_ password: String) -> WebDAVServer.Account {
                WebDAVServer.Account(scheme: .digest, user: "me", password: password)
            }
            try await WebDAVServer.with(.apache, account: account("old")) { server in
                try Files.makeDirectory("\(server.base)/apus")
                let file = "\(server.base)/apus/config.toml"
                try write("old", for: server, to: file)
                var options = MountedFolder.Options()
                options.otherSource = server.source
                options.environment = ["XDG_CONFIG_HOME": server.base]
                options.limitSeconds = 240
                try MountedFolder.with(options) { folder in
                    try Files.write([1], to: folder.local("before"))
                    try folder.sync()
                    try server.change(to: account("new"))
                    try Files.write([2], to: folder.local("after"))
                    try eventually("the refusal is told", within: .seconds(60)) {
                        try Program.require(Apus.path, "status", folder.point)
                            .contains("refuses the credentials")
                    }
                    try write("new", for: server, to: file)
                    try eventually("the file is on the server", within: .seconds(150)) {
                        try Files.names(in: server.folder).contains("after")
                    }
                    try folder.sync()
                    #expect(try Files.holds([2], at: "\(server.folder)/after"))
                    #expect(try folder.report().counts.failed == 0)
                }
            }
        }

        @Test func `who interrupts a mount that waits for a password leaves no daemon`() throws {
            var options = MountedFolder.Options()
            options.otherSource = "webdav+http://127.0.0.1:9/"
            let folder = try MountedFolder(options)
            defer { folder.remove() }
            try Files.makeDirectory("\(folder.base)/apus")
            let config = "\(folder.base)/apus/config.toml"
            let asked = "\(folder.base)/asked"
            let text = """
                [[credentials]]
                source = "\(folder.source)"
                username = "me"
                password-command = "touch \(asked); exec sleep 600"
                """
            try Files.write(Array(text.utf8), to: config)
            try Files.setMode(0o600, of: config)
            let mount = try Apus.start(
                ["mount", folder.source, folder.point, "--state-dir", folder.state],
                environment: ["XDG_CONFIG_HOME": folder.base])
            try eventually("the password is asked for") { Files.exists(asked) }
            #expect(folder.isDaemonRunning)
            mount.signal(SIGINT)
            _ = try? mount.wait()
            try eventually("the daemon is gone") { !folder.isDaemonRunning }
            #expect(!folder.isMounted)
        }

        @Test func `an unmount with nothing to send takes no refused credentials for a failure`()
            async throws
        {
            func account(_ password: String) -> WebDAVServer.Account {
                WebDAVServer.Account(scheme: .digest, user: "me", password: password)
            }
            try await WebDAVServer.with(.apache, account: account("old")) { server in
                try Files.makeDirectory("\(server.base)/apus")
                try write("old", for: server, to: "\(server.base)/apus/config.toml")
                try Files.makeDirectory("\(server.folder)/unseen")
                var options = MountedFolder.Options()
                options.otherSource = server.source
                options.environment = ["XDG_CONFIG_HOME": server.base]
                try MountedFolder.with(options) { folder in
                    try Files.write([1], to: folder.local("sent"))
                    try folder.sync()
                    try server.change(to: account("new"))
                    #expect(throws: (any Error).self) {
                        try Files.names(in: folder.local("unseen"))
                    }
                    try eventually("the refusal is told", within: .seconds(60)) {
                        try Program.require(Apus.path, "status", folder.point)
                            .contains("refuses the credentials")
                    }
                    let said = try Program.require(Apus.path, "unmount", folder.point)
                    #expect(said.contains("Everything is on the remote"))
                }
            }
        }

        @Test func `refused credentials keep back as many changes as are waiting`() async throws {
            func account(_ password: String) -> WebDAVServer.Account {
                WebDAVServer.Account(scheme: .digest, user: "me", password: password)
            }
            try await WebDAVServer.with(.apache, account: account("old")) { server in
                try Files.makeDirectory("\(server.base)/apus")
                try write("old", for: server, to: "\(server.base)/apus/config.toml")
                var options = MountedFolder.Options()
                options.otherSource = server.source
                options.environment = ["XDG_CONFIG_HOME": server.base]
                try MountedFolder.with(options) { folder in
                    try Files.write([1], to: folder.local("sent"))
                    try folder.sync()
                    try server.change(to: account("new"))
                    for name in ["a", "b", "c"] { try Files.write([1], to: folder.local(name)) }
                    try eventually("the refusal is told", within: .seconds(60)) {
                        try Program.require(Apus.path, "status", folder.point)
                            .contains("refuses the credentials")
                    }
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
}
