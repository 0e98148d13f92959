import Foundation
import Glibc
import Testing

extension MountedTests {
    /// Method: the test plays the service manager, with a socket of its own; see sd_notify(3).
    @Suite(.timeLimit(.minutes(3)))
    struct `A mount as a service` {
        /// Starts the mount in the foreground; it takes this socket's messages until the end.
        private func start(
            _ folder: MountedFolder, _ socket: NotifyListener, _ options: String...
        ) throws -> Program {
            try Apus.start(
                ["mount", "--foreground", folder.source, folder.point, "--state-dir", folder.state]
                    + options, environment: ["NOTIFY_SOCKET": socket.address])
        }

        private func end(_ folder: MountedFolder) throws {
            let process = try #require(folder.daemon)
            try CallError.check(kill(process, SIGTERM), "kill \(process)")
        }

        @Test(arguments: [false, true])
        func `is ready once it answers, and has sent all when it ends`(isAbstract: Bool) throws {
            let folder = try MountedFolder(.init(source: "rate=256KiB"))
            defer { folder.remove() }
            let socket = try NotifyListener(below: folder.base, isAbstract: isAbstract)
            let program = try start(folder, socket)
            try socket.awaitMessage("READY=1")
            #expect(folder.isMounted)
            #expect(try Files.names(in: folder.point) == [])
            try socket.awaitMessage(
                "STATUS=Mounted on \(folder.point); Everything is on the remote")
            // Long enough under way to be seen in the status and at the end.
            try Files.write([UInt8](repeating: 7, count: 2 << 20), to: folder.local("file"))
            try socket.awaitMessage("1 change (2.0 MiB) not yet on the remote")
            try end(folder)
            let stopping = try socket.awaitMessage("STOPPING=1")
            #expect(stopping.contains("\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS="))
            try socket.awaitMessage("STATUS=Unmounting")
            try program.wait().expectSuccess()
            #expect(!folder.isMounted)
            #expect(try Files.read(folder.remote("file")).count == 2 << 20)
        }

        @Test
        func `keeps changes for the next mount that the time of the stop does not suffice for`()
            throws
        {
            let folder = try MountedFolder(.init(source: "rate=8KiB"))
            defer { folder.remove() }
            let socket = try NotifyListener(below: folder.base, isAbstract: false)
            let program = try start(folder, socket, "--stop-timeout", "1s")
            try socket.awaitMessage("READY=1")
            let bytes = [UInt8](repeating: 7, count: 1 << 20)
            try Files.write(bytes, to: folder.local("file"))
            try end(folder)
            try socket.awaitMessage("STATUS=Unmounting")
            try program.wait().expectSuccess()
            #expect(!Files.exists(folder.remote("file")))
            let source = "folder:\(folder.remote)?rate=1GiB"
            try Program.require(
                Apus.path, "mount", source, folder.point, "--state-dir", folder.state)
            #expect(try Files.read(folder.local("file")) == bytes)
            try folder.sync()
            #expect(try Files.read(folder.remote("file")) == bytes)
        }

        @Test func `ends at once without a time for the stop, or at a second signal`() throws {
            let folder = try MountedFolder(.init(source: "rate=8KiB"))
            defer { folder.remove() }
            let socket = try NotifyListener(below: folder.base, isAbstract: false)
            for options in [["--stop-timeout", "0"], ["--stop-timeout", "1h"]] {
                let program = try Apus.start(
                    ["mount", "--foreground", folder.source, folder.point]
                        + ["--state-dir", folder.state] + options,
                    environment: ["NOTIFY_SOCKET": socket.address])
                try socket.awaitMessage("READY=1")
                try Files.write([UInt8](repeating: 7, count: 1 << 20), to: folder.local("file"))
                try end(folder)
                if options[1] == "1h" {
                    try socket.awaitMessage("STOPPING=1")
                    try end(folder)
                }
                try program.wait().expectSuccess()
                #expect(!folder.isMounted)
            }
        }

        @Test func `sends nothing from the background`() throws {
            let folder = try MountedFolder()
            defer { folder.remove() }
            let socket = try NotifyListener(below: folder.base, isAbstract: true)
            try Apus.run(
                ["mount", folder.source, folder.point, "--state-dir", folder.state],
                environment: ["NOTIFY_SOCKET": socket.address]
            ).expectSuccess()
            try folder.unmount()
            #expect(socket.isSilent)
        }

        @Test func `that has died is mounted again by its name`() throws {
            let folder = try MountedFolder()
            defer { folder.remove() }
            try Program.require("mkdir", "-p", "\(folder.base)/config/apus")
            let text = """
                [mount.photos]
                source = "\(folder.source)"
                path = "\(folder.point)"
                state-dir = "\(folder.state)"
                """
            try Files.write(Array(text.utf8), to: "\(folder.base)/config/apus/config.toml")
            let environment = ["XDG_CONFIG_HOME": "\(folder.base)/config"]
            try Apus.run(["mount", "photos"], environment: environment).expectSuccess()
            try Files.write([1], to: folder.local("file"))
            try folder.killDaemon()
            try Apus.run(["mount", "photos"], environment: environment).expectSuccess()
            #expect(try Files.read(folder.local("file")) == [1])
        }
    }
}
