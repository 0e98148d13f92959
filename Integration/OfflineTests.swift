import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    /// Goal: a source that was mounted before can be used without its server, and everything goes on by
    /// itself once that is back.
    @Suite(.timeLimit(.minutes(5))) struct `A mount without its server` {
        private func options(_ server: WebDAVServer) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.otherSource = server.source
            return options
        }

        /// - Returns: The note for the user.
        private func mountAgain(_ folder: MountedFolder) throws -> String {
            let result = try Apus.run(
                "mount", folder.source, folder.point, "--state-dir", folder.state)
            #expect(result.status == 0, Comment(rawValue: result.description))
            return result.errors
        }

        @Test func `shows and takes files, and sends them when the server is back`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try Files.write([1, 2, 3], to: "\(server.folder)/local")
                try Files.write([4], to: "\(server.folder)/far")
                try MountedFolder.with(options(server)) { folder in
                    #expect(try Files.names(in: folder.point) == ["far", "local"])
                    #expect(try Files.read(folder.local("local")) == [1, 2, 3])
                    try server.kill()
                    try Files.write([5], to: folder.local("queued"))
                    try folder.unmount(now: true)

                    let note = try mountAgain(folder)
                    #expect(note.contains("local files can be used"))
                    let evicted = try Apus.run("evict", folder.local("far"))
                    #expect(evicted.status == 0 && evicted.errors.contains("is out of reach"))
                    #expect(try Files.names(in: folder.point) == ["far", "local", "queued"])
                    #expect(try Files.read(folder.local("local")) == [1, 2, 3])
                    #expect(try Files.read(folder.local("queued")) == [5])
                    try Files.write([6], to: folder.local("new"))
                    #expect(throws: CallError.self) { try Files.read(folder.local("far")) }
                    try eventually("the outage is told") {
                        try !folder.report().remote.reachable
                    }
                    #expect(try folder.report().counts.pending == 2)

                    try server.restart()
                    try eventually("all of it is on the server") {
                        try folder.report().counts.pending == 0
                    }
                    #expect(try server.names == ["far", "local", "new", "queued"])
                    #expect(try Files.holds([6], at: "\(server.folder)/new"))
                    #expect(try Files.read(folder.local("far")) == [4])
                    #expect(try folder.report().remote.reachable)
                }
            }
        }

        /// Method: the server accepts connections, and never answers.
        @Test func `does not wait for a server that is silent`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try Files.write([1], to: "\(server.folder)/local")
                try MountedFolder.with(options(server)) { folder in
                    #expect(try Files.read(folder.local("local")) == [1])
                    try folder.unmount()
                    try server.pause()
                    defer { server.resume() }
                    let note = try mountAgain(folder)
                    #expect(note.contains("the remote has not answered yet"))
                    #expect(try Files.read(folder.local("local")) == [1])
                    try Files.write([2], to: folder.local("new"))
                    server.resume()
                    try folder.sync()
                    #expect(try Files.holds([2], at: "\(server.folder)/new"))
                }
            }
        }

        /// Goal: a command that may ask a person for the password is not run at each try, and is waited for.
        @Test func `asks for the password once, and waits for it`() async throws {
            let account = WebDAVServer.Account(scheme: .basic, user: "me", password: "old")
            try await WebDAVServer.with(.apache, account: account) { server in
                let (runs, delay) = ("\(server.base)/runs", "\(server.base)/delay")
                try Files.makeDirectory("\(server.base)/apus")
                let config = "\(server.base)/apus/config.toml"
                let text = """
                    [[credentials]]
                    source = "\(server.source)"
                    username = "me"
                    password-command = "echo run >> \(runs); test ! -e \(delay) || sleep 2; echo old"
                    """
                try Files.write(Array(text.utf8), to: config)
                try Files.setMode(0o600, of: config)
                var options = options(server)
                options.environment = ["XDG_CONFIG_HOME": server.base]
                try MountedFolder.with(options) { folder in
                    #expect(try Files.names(in: folder.point) == [])
                    try server.kill()
                    try folder.unmount(now: true)
                    try Files.write([], to: runs)
                    try folder.mount()
                    try Files.write([1], to: folder.local("new"))
                    try eventually("the outage is told") {
                        try !folder.report().remote.reachable
                    }
                    try server.restart()
                    try folder.sync()
                    #expect(try Files.read(runs) == Array("run\n".utf8))

                    try folder.unmount()
                    try Files.write([], to: delay)
                    let result = try Apus.run(
                        ["mount", folder.source, folder.point, "--state-dir", folder.state],
                        environment: options.environment)
                    #expect(result.status == 0, Comment(rawValue: result.description))
                    #expect(!result.errors.contains("has not answered"), "the server is there")
                }
            }
        }

        @Test func `asks for other credentials if the server has changed them`() async throws {
            let old = WebDAVServer.Account(scheme: .basic, user: "me", password: "old")
            try await WebDAVServer.with(.apache, account: old) { server in
                var options = options(server)
                options.environment = [
                    "APUS_WEBDAV_USERNAME": "me", "APUS_WEBDAV_PASSWORD": "old",
                ]
                try MountedFolder.with(options) { folder in
                    try Files.write([1], to: folder.local("file"))
                    try folder.sync()
                    try server.kill()
                    try Files.write([2], to: folder.local("new"))
                    try folder.unmount(now: true)
                    try folder.mount()
                    #expect(try Files.read(folder.local("file")) == [1])
                    try server.change(to: .init(scheme: .basic, user: "me", password: "new"))
                    try server.restart()
                    try eventually("the refusal is told") {
                        try Program.require(Apus.path, "status", folder.point)
                            .contains("has refused the credentials")
                    }
                    #expect(try server.names == ["file"])
                    try server.change(to: old)
                    try eventually("the file is on the server", within: .seconds(150)) {
                        try server.names == ["file", "new"]
                    }
                }
            }
        }

        @Test func `needs the server if it was never mounted`() async throws {
            try await WebDAVServer.with(.apache) { server in
                let folder = try MountedFolder(options(server))
                defer { folder.remove() }
                try server.kill()
                try Apus.expectRefusal(
                    "mount", folder.source, folder.point, "--state-dir", folder.state,
                    naming: "cannot open", "check the address, and that the server is running")
                #expect(!folder.isMounted)
            }
        }

        @Test func `waits for a folder that is gone, and sends what is queued for it`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=16KiB"
            let bytes = TestBytes.random(1 << 20, seed: 5)
            try MountedFolder.with(options) { folder in
                try Files.write(bytes, to: folder.local("new"))
                try folder.unmount(now: true)
                let away = "\(folder.base)/away"
                try Files.rename(folder.remote, to: away)
                let note = try mountAgain(folder)
                #expect(
                    note.contains("it does not exist: create it, or mount the disk that holds it"))
                #expect(try Files.read(folder.local("new")) == bytes)
                // As an automounter makes the mount point before it mounts the disk.
                try Files.makeDirectory(folder.remote)
                try eventually("the empty directory is told apart") {
                    try Program.require(Apus.path, "status", folder.point)
                        .contains("it is empty, and not the one that was mounted before")
                }
                try Program.require("rmdir", folder.remote)
                try Files.rename(away, to: folder.remote)
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == bytes)
            }
        }

        /// Goal: the bare directory beneath a disk is not taken for the folder without its files.
        @Test func `does not take an empty directory for the folder`() throws {
            try MountedFolder.with(MountedFolder.Options()) { remote in
                try Files.write([1], to: "\(remote)/file")
            } _: { folder in
                #expect(try Files.read(folder.local("file")) == [1])
                try folder.unmount()
                let away = "\(folder.base)/away"
                try Files.rename(folder.remote, to: away)
                try Files.makeDirectory(folder.remote)
                let note = try mountAgain(folder)
                #expect(note.contains("it is empty, and not the one that was mounted before"))
                #expect(try Files.read(folder.local("file")) == [1])
                try Files.write([2], to: folder.local("new"))
                let result = try Apus.run("sync", folder.point)
                #expect(result.status == 1, Comment(rawValue: result.description))
                #expect(result.errors.contains("it is empty, and not the one"))
                #expect(try Files.names(in: folder.remote) == [])

                // The user says that it is the right one.
                try Files.write([3], to: folder.remote("other"))
                try folder.sync()
                #expect(try Files.names(in: folder.remote).contains("new"))
            }
        }

        /// Runs `body` with an unmounted folder whose remote is away, and another file system to take its place;
        /// each has a file.
        private static func withOtherStore(_ body: (MountedFolder, String) throws -> Void) throws {
            let other = try Files.makeTemporaryDirectory("o", in: "/dev/shm")
            defer { _ = try? Program.run("rm", "-rf", other) }
            try Files.write([2], to: "\(other)/file")
            try MountedFolder.with(MountedFolder.Options()) { remote in
                try Files.write([1], to: "\(remote)/file")
            } _: { folder in
                #expect(try Files.read(folder.local("file")) == [1])
                try folder.unmount()
                try Files.rename(folder.remote, to: "\(folder.base)/away")
                try body(folder, other)
            }
        }

        /// Method: the folder's disk is mounted elsewhere, and another file system, with room for other
        /// extended attributes, is in its place when the mount connects.
        @Test func `is not connected to a store of other capabilities, until it is mounted again`()
            throws
        {
            try Self.withOtherStore { folder, other in
                _ = try mountAgain(folder)
                try Files.write([3], to: folder.local("new"))
                try Program.require("ln", "-s", other, folder.remote)
                try eventually("the reason is told") {
                    try Program.require(Apus.path, "status", folder.point)
                        .contains("the remote has other capabilities than at the last mount")
                }
                #expect(try Files.names(in: other) == ["file"])
                try folder.unmount(now: true)
                #expect(try mountAgain(folder) == "")
                try folder.sync()
                #expect(try Files.read("\(other)/new") == [3])
                #expect(try Files.read(folder.local("file")) == [2])
            }
        }

        /// Method: as above, but the other file system is there when the mount begins.
        @Test func `is mounted with the capabilities that the store has by now`() throws {
            try Self.withOtherStore { folder, other in
                try Program.require("ln", "-s", other, folder.remote)
                #expect(try mountAgain(folder) == "")
                try Files.write([3], to: folder.local("new"))
                try folder.sync()
                #expect(try Files.read("\(other)/new") == [3])
                try eventually("the file is that of the other store") {
                    try Files.read(folder.local("file")) == [2]
                }
            }
        }

        /// Goal: a folder that is still the same may have been emptied.
        @Test func `takes the folder of before also if it is empty`() throws {
            try MountedFolder.with(MountedFolder.Options()) { remote in
                try Files.write([1], to: "\(remote)/file")
            } _: { folder in
                #expect(try Files.names(in: folder.point) == ["file"])
                try folder.unmount()
                try Files.unlink(folder.remote("file"))
                #expect(try mountAgain(folder) == "")
                try eventually("the file is gone") {
                    try Files.names(in: folder.point) == []
                }
            }
        }
    }
}
