import Foundation
import GRDB
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Unmounting` {
        private static let slow: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.source = "rate=2MiB"
            return options
        }()
        private static let bytes = TestBytes.random(4 << 20, seed: 7)

        @Test(.timeLimit(.minutes(2)))
        func `waits until everything is uploaded, and says so`() throws {
            try MountedFolder.with(Self.slow) { folder in
                try Files.write(Self.bytes, to: folder.local("new"))
                let result = try Apus.run("unmount", folder.point)
                #expect(result.status == 0, "\(result)")
                #expect(result.errors.contains("1 change ("), "\(result)")
                #expect(result.errors.contains(" to go"), "\(result)")
                #expect(result.output.hasPrefix("Everything is on the remote, "), "\(result)")
                #expect(!folder.isMounted)
                #expect(try Files.read(folder.remote("new")) == Self.bytes)
                #expect(try Files.names(in: folder.remote) == ["new"], "no temporary is left")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `with --now leaves uploads queued for the next mount`() throws {
            try MountedFolder.with(Self.slow) { folder in
                try Files.write(Self.bytes, to: folder.local("new"))
                try eventually("uploading") { try folder.state(of: "new") == "uploading" }
                let result = try Apus.run("unmount", "--now", folder.point)
                #expect(result.status == 0, "\(result)")
                #expect(
                    result.output
                        == "1 change (4.0 MiB) not yet on the remote; the next mount sends them.\n"
                )
                #expect(!folder.isMounted)
                #expect(!Files.exists(folder.remote("new")))

                try folder.mount()
                #expect(["dirty", "uploading"].contains(try folder.state(of: "new")))
                #expect(try Files.read(folder.local("new")) == Self.bytes)
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == Self.bytes)
                #expect(try Files.names(in: folder.remote) == ["new"], "no temporary is left")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is refused with a remedy while a file is open`() throws {
            try MountedFolder.with { remote in
                try Files.write([1], to: remote + "/file")
            } _: { folder in
                let file = try OpenFile(folder.local("file"), O_RDONLY)
                try Apus.expectRefusal("unmount", folder.point, naming: "in use")
                #expect(try file.readAll() == [1])
                try file.close()
                try folder.unmount()
            }
        }

        /// Goal: `apus unmount` does not end with 0 if a program changes its open file in the last moment.
        @Test(.timeLimit(.minutes(2)))
        func `is refused at once while a program writes, although all is sent so far`() throws {
            try MountedFolder.with { folder in
                let file = try OpenFile(folder.local("log"), O_WRONLY | O_CREAT)
                try file.write([1])
                let result = try Program.run(Apus.path, "unmount", folder.point)
                #expect(result.status == 1 && result.errors.contains("in use"), "\(result)")
                #expect(try Files.read(folder.remote("log")) == [1])
                try file.write([2], at: 1)
                try file.close()
                try folder.unmount()
                #expect(try Files.read(folder.remote("log")) == [1, 2])
            }
        }

        /// A command that ends a mount while its daemon is alive.
        enum OrderlyEnd: String, CaseIterable, CustomTestStringConvertible {
            case umount, fusermount, apus, signal

            var testDescription: String { rawValue }
        }

        /// Goal: only a daemon that died leaves the directory protected.
        @Test(.timeLimit(.minutes(2)), arguments: OrderlyEnd.allCases)
        func `in an orderly way gives the directory back as it was`(_ end: OrderlyEnd) throws {
            if end == .umount, geteuid() != 0 { return }
            let folder = try MountedFolder(Self.slow)
            defer { folder.remove() }
            try CallError.check(chmod(folder.point, 0o2750), "chmod")
            let before = try Self.condition(of: folder.point)
            try folder.mount()
            // Still pending at the end.
            try Files.write(Self.bytes, to: folder.local("new"))
            let process = try #require(folder.daemon)
            switch end {
            case .umount: try Program.require("umount", folder.point)
            case .fusermount: try Program.require("fusermount3", "-u", folder.point)
            case .apus: try folder.unmount(now: true)
            case .signal: try CallError.check(kill(process, SIGTERM), "kill")
            }
            try eventually("the directory is as it was") {
                try !folder.isMounted && Self.condition(of: folder.point) == before
            }
            try Program.require("rm", "-r", folder.point)
            try Files.makeDirectory(folder.point)
            try eventually("the daemon ends") { !MountedFolder.isRunning(process) }
        }

        /// Mode, flags and extended attributes.
        private static func condition(of directory: String) throws -> [String] {
            [
                String(try Files.status(directory).st_mode, radix: 8),
                // Not every file system has flags.
                try Program.run("lsattr", "-d", directory).output,
                try Program.require("getfattr", "--absolute-names", "-d", "-m-", directory),
            ]
        }

        @Test(.timeLimit(.minutes(2)))
        func `after the mount went away gives the folder back`() throws {
            try MountedFolder.with { folder in
                try folder.killDaemon()
                try Program.require("fusermount3", "-u", folder.point)
                #expect(throws: CallError.self) { try Files.write([1], to: folder.local("later")) }
                let result = try Apus.run("unmount", folder.point)
                #expect(result.status == 0, "\(result)")
                #expect(result.output.contains("Everything is on the remote"), "\(result)")
                try Files.write([1], to: folder.local("later"))
                try Files.unlink(folder.local("later"))
            }
        }

        /// The kernel remembers for a minute what it was told of the mount point.
        @Test(.timeLimit(.minutes(2)))
        func `of a dead mount that was just looked at cleans it up, and tells what waits`() throws {
            // Slow enough that nobody is in time before the kill.
            var options = MountedFolder.Options()
            options.source = "rate=512KiB"
            let bytes = TestBytes.random(8 << 20, seed: 8)
            try MountedFolder.with(options) { folder in
                try Files.write(bytes, to: folder.local("file"))
                _ = try Files.status(folder.point)
                try folder.killDaemon()
                try Apus.expectRefusal(
                    "unmount", folder.point,
                    naming: "had died", "1 change (8.0 MiB) waits in \(folder.state)",
                    "apus mount 'folder:\(folder.remote)?rate=",
                    "' \(folder.point) --state-dir \(folder.state)`")
                #expect(!folder.isMounted)
                try folder.mount()
                try folder.killDaemon()
                let result = try Apus.run("unmount", "--now", folder.point)
                #expect(result.status == 0, "\(result)")
                #expect(result.output.contains("1 change (8.0 MiB) waits"), "\(result)")
                #expect(!folder.isMounted)

                try folder.mount()
                try folder.sync()
                #expect(try Files.read(folder.remote("file")) == bytes)
                try folder.killDaemon()
                let last = try Apus.run("unmount", folder.point)
                #expect(last.status == 0, "\(last)")
                #expect(last.output.contains("Everything is on the remote"), "\(last)")
                #expect(!folder.isMounted)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `of a dead mount counts what was written to a file that was open`() throws {
            try MountedFolder.with { folder in
                let file = try OpenFile(folder.local("open"), O_WRONLY | O_CREAT)
                try file.write([UInt8](repeating: 7, count: 5_000))
                try folder.killDaemon()
                try Apus.expectRefusal("unmount", folder.point, naming: "1 change (4.9 KiB) waits")
                try folder.mount()
                try folder.sync()
                #expect(try Files.read(folder.remote("open")).count == 5_000)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `of a dead mount whose state is gone says that it is not known what waits`() throws {
            try MountedFolder.with { folder in
                try folder.killDaemon()
                try Program.require("mv", folder.state, "\(folder.state).away")
                try Apus.expectRefusal("unmount", folder.point, naming: "had died", "not known")
                #expect(!folder.isMounted)
                try Program.require("mv", "\(folder.state).away", folder.state)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `with --now ends a mount whose state directory was removed`() throws {
            try MountedFolder.with { folder in
                try Files.write([1], to: folder.local("file"))
                try folder.sync()
                let process = try #require(folder.daemon)
                try Program.require("rm", "-rf", folder.state)
                try Apus.expectRefusal("unmount", folder.point, naming: "--now", folder.state)
                #expect(folder.isMounted)

                let result = try Apus.run("unmount", "--now", folder.point)
                #expect(result.status == 0, "\(result)")
                #expect(result.output.contains("\(folder.state) is gone"), "\(result)")
                #expect(!folder.isMounted)
                try eventually("the daemon ends", within: .seconds(60)) {
                    !MountedFolder.isRunning(process)
                }
                try Files.write([1], to: folder.local("writable"))
                try Files.unlink(folder.local("writable"))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `with --now ends a mount whose database is damaged, and says so`() throws {
            try MountedFolder.with { folder in
                try Files.write([1], to: folder.local("file"))
                try folder.sync()
                try folder.unmount()
                try Self.damageDatabase(of: folder)
                try folder.mount()
                try Apus.expectRefusal("unmount", folder.point, naming: "--now", "apus check")
                #expect(folder.isMounted)

                let result = try Apus.run("unmount", "--now", folder.point)
                #expect(result.status == 0, "\(result)")
                #expect(result.output.contains("is not known"), "\(result)")
                #expect(result.output.contains("apus check \(folder.state)"), "\(result)")
                #expect(!folder.isMounted && !folder.isDaemonRunning)
            }
        }

        /// Damages a table that only the status reads, so that the next mount starts with it.
        private static func damageDatabase(of folder: MountedFolder) throws {
            let path = "\(folder.state)/state.sqlite"
            let queue = try DatabaseQueue(path: path)
            let page = try queue.read { database in
                try Int.fetchOne(
                    database, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'conflicts'")
            }
            try queue.close()
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            try file.seek(toOffset: UInt64(try #require(page) - 1) * 4_096)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 4_096))
            try file.close()
        }

        /// The table of mounts is longer than what one read gives.
        @Test(.timeLimit(.minutes(2)))
        func `finds its mount among very many`() throws {
            try MountedFolder.with { folder in
                let script = """
                    for n in $(seq 100); do
                        mkdir -p "$0/many/$n" && mount -t tmpfs none "$0/many/$n" || exit 3
                    done
                    exec "$1" status --json "$2"
                    """
                let result = try Program.run(
                    "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script,
                    folder.base, Apus.path, folder.point)
                #expect(!result.errors.contains("find"), "\(result)")
                #expect(result.status == 0, "\(result)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `by another program ends the daemon and keeps what is queued`() throws {
            try MountedFolder.with(Self.slow) { folder in
                try Files.write(Self.bytes, to: folder.local("new"))
                try Program.require("fusermount3", "-u", folder.point)
                try eventually("the daemon ends") { !folder.isDaemonRunning }
                try folder.mount()
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == Self.bytes)
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `ends the daemon although the server does not answer a rename`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try server.makeRoom("room")
                try Files.write([1, 2, 3], to: "\(server.folder)/room/old")
                try Relay.with(server.port) { relay in
                    var options = MountedFolder.Options()
                    options.otherSource = "webdav+http://127.0.0.1:\(relay.port)/room"
                    options.mount = ["--refresh", "1h"]
                    try MountedFolder.with(options) { folder in
                        // All names are known then, also those that are not there.
                        #expect(try Files.names(in: folder.point) == ["old"])
                        #expect(try Files.read(folder.local("old")) == [1, 2, 3])
                        relay.hold(.fromServer, after: 0)
                        try Files.rename(folder.local("old"), to: folder.local("new"))
                        #expect(relay.waitForHold())
                        let start = ContinuousClock.now
                        try folder.unmount(now: true)
                        try eventually("the daemon ends", within: .seconds(60)) {
                            !folder.isDaemonRunning
                        }
                        print("the daemon ended after \(ContinuousClock.now - start)")
                        relay.cut()
                        try relay.open()
                        try folder.mount()
                        try folder.sync()
                        #expect(try Files.names(in: folder.point) == ["new"])
                        #expect(try Files.names(in: "\(server.folder)/room") == ["new"])
                        #expect(try Files.read("\(server.folder)/room/new") == [1, 2, 3])
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `ends the daemon although another namespace has a copy of the mount`() throws {
            try MountedFolder.with { folder in
                let other = try Program.start([
                    "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                    "echo > \"$0/ready\"; sleep 50", folder.base,
                ])
                defer { other.killAll() }
                try eventually("the namespace is there") { Files.exists("\(folder.base)/ready") }
                let result = try Apus.run("unmount", folder.point)
                #expect(result.status == 0, "\(result)")
                #expect(!folder.isDaemonRunning)
                #expect(other.isRunning)
            }
        }
    }
}
