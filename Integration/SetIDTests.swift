import Glibc
import Testing

extension MountedTests {
    @Suite(.timeLimit(.minutes(3)))
    struct `Set-user-ID and set-group-ID bits` {
        private static let modes: [mode_t] = [0o6777, 0o4666, 0o2777, 0o777]
        /// What is done to the file `$0` of six bytes.
        private static let changes = [
            "printf x >> \"$0\"", "printf x > \"$0\"", ": > \"$0\"", "truncate -s 1 \"$0\"",
            "truncate -s 9 \"$0\"", "printf x | dd of=\"$0\" conv=notrunc status=none",
        ]

        private func mode(of path: String) throws -> mode_t {
            try Files.status(path).st_mode & 0o7777
        }

        /// Mounts so that another user may write too, if the tests run as root.
        private func withOthers(
            _ body: (_ folder: MountedFolder, _ user: OrdinaryUser) throws -> Void
        ) throws {
            var options = MountedFolder.Options()
            if geteuid() == 0 { options.mount = ["--allow-other"] }
            try MountedFolder.with(options) { folder in
                try Files.setMode(0o755, of: folder.base)
                let place = "\(folder.base)/user"
                try Files.makeDirectory(place)
                try body(folder, try OrdinaryUser(directory: place))
            }
        }

        private func change(
            _ file: String, by script: String, as user: OrdinaryUser?
        ) throws {
            let command = ["sh", "-c", script, file]
            let result =
                try user.map { try $0.run(command, environment: [:]) }
                ?? Program.start(command).wait()
            try #require(result.status == 0, "\(result)")
        }

        @Test(arguments: [true, false])
        func `are cleared by a write and a truncation as on a local disk`(
            isOrdinary: Bool
        ) throws {
            try withOthers { folder, user in
                let writer = isOrdinary ? user : nil
                for (index, script) in Self.changes.enumerated() {
                    for mode in Self.modes {
                        let name = "file-\(index)-\(String(mode, radix: 8))"
                        let files = [folder.local(name), "\(folder.base)/\(name)"]
                        for file in files {
                            try Files.write(Array("before".utf8), to: file)
                            try Files.setMode(mode, of: file)
                            try change(file, by: script, as: writer)
                        }
                        let modes = try files.map { String(try self.mode(of: $0), radix: 8) }
                        #expect(modes[0] == modes[1], "\(script) of \(String(mode, radix: 8))")
                        let contents = try files.map { try Files.read($0) }
                        #expect(contents[0] == contents[1], "\(script)")
                    }
                }
            }
        }

        @Test func `are cleared again if they are set while the file is open`() throws {
            try withOthers { folder, user in
                let file = folder.local("file")
                try Files.write([1], to: file)
                try Files.setMode(0o777, of: file)
                let writer = try OpenFile(file, O_WRONLY)
                for _ in 0..<3 {
                    try change(file, by: "printf x >> \"$0\"", as: user)
                    try Files.setMode(0o6777, of: file)
                    #expect(try mode(of: file) == 0o6777)
                    try change(file, by: "printf x >> \"$0\"", as: user)
                    #expect(try mode(of: file) == 0o777)
                }
                try writer.close()
                try folder.sync()
                #expect(try mode(of: folder.remote("file")) == 0o777)
            }
        }

        @Test func `set-group-ID alone is kept if the group may not execute the file`() throws {
            try withOthers { folder, user in
                let file = folder.local("file")
                try Files.write([1], to: file)
                try Files.setMode(0o2766, of: file)
                try change(file, by: "printf x >> \"$0\"", as: user)
                #expect(try mode(of: file) == 0o2766)
            }
        }

        @Test(.enabled(if: geteuid() == 0, "only root may give files away"))
        func `are cleared by a change of the owner`() throws {
            try withOthers { folder, _ in
                let file = folder.local("file")
                try Files.write([1], to: file)
                for owner in ["65534", ":65534"] {
                    try Files.setMode(0o6755, of: file)
                    try Program.require("chown", owner, file)
                    #expect(try mode(of: file) == 0o755, "chown \(owner)")
                }
                let directory = folder.local("directory")
                try Files.makeDirectory(directory)
                try Files.setMode(0o2755, of: directory)
                try Program.require("chown", "65534", directory)
                #expect(try mode(of: directory) == 0o2755)
            }
        }

        @Test func `writes are not preceded by questions about capabilities`() throws {
            var options = MountedFolder.Options()
            options.environment["APUS_LOG"] = "trace"
            try MountedFolder.with(options) { folder in
                let writes = 200
                try Files.write([], to: folder.local("other"))
                let before = folder.requests["getxattr", default: 0]
                for _ in 0..<writes { try Files.append("abcd", to: folder.local("other")) }
                let file = try OpenFile(folder.local("file"), O_WRONLY | O_CREAT | O_APPEND)
                for index in 0..<writes { try file.write([1, 2, 3, 4], at: index * 4) }
                try file.close()
                let requests = folder.requests
                #expect(requests["write"] == 2 * writes)
                // One for each time that a file was opened: not one for each write.
                #expect(requests["getxattr", default: 0] - before <= writes + 2)
                #expect(try Files.status(folder.local("file")).st_size == writes * 4)
            }
        }
    }
}
