import Foundation
import Testing

extension MountedTests {
    @Suite
    struct `Files from the trash` {
        private static let files = ["Photos/a.jpg", "Photos/old/b.jpg"]

        private static func content(_ path: String) -> [UInt8] { Array("I am \(path)\n".utf8) }

        /// Files that were here, and that the remote has deleted.
        private static func withDeleted(_ body: (MountedFolder) throws -> Void) throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory("\(remote)/Photos")
                try Files.makeDirectory("\(remote)/Photos/old")
                for path in files { try Files.write(content(path), to: "\(remote)/\(path)") }
            } _: { folder in
                for path in files {
                    #expect(try Files.read(folder.local(path)) == content(path))
                    try Files.setMode(0o640, of: folder.local(path))
                    try Files.setModified(
                        seconds: 1_000_000_000, nanoseconds: 0, of: folder.local(path))
                    try Files.setAttribute(
                        "user.note", to: Array("blue".utf8), of: folder.local(path))
                }
                try folder.sync()
                try Program.require("rm", "-r", folder.remote("Photos"))
                try eventually("the deletion is applied") {
                    !Files.exists(folder.local("Photos"))
                }
                try body(folder)
            }
        }

        private static func expectWhole(
            _ path: String, of former: String, _ folder: MountedFolder
        ) throws {
            let place = folder.local(path)
            #expect(try Files.read(place) == content(former))
            #expect(try Files.status(place).st_mode & 0o7777 == 0o640)
            #expect(try Files.status(place).st_mtim.tv_sec == 1_000_000_000)
            #expect(try Files.attribute("user.note", of: place) == Array("blue".utf8))
        }

        @Test(.timeLimit(.minutes(2)))
        func `come back as a folder, with all that they had, and are sent`() throws {
            try Self.withDeleted { folder in
                let list = try Program.require(Apus.path, "trash", "list", folder.local("Photos"))
                for path in Self.files {
                    #expect(list.contains("29  "), "\(list)");
                    #expect(list.contains(path), "\(list)")
                }
                let restored = try Program.require(
                    Apus.path, "trash", "restore", folder.local("Photos"))
                #expect(restored.contains("2 files"), "\(restored)")
                for path in Self.files { try Self.expectWhole(path, of: path, folder) }
                try folder.sync()
                for path in Self.files {
                    #expect(try Files.read(folder.remote(path)) == Self.content(path))
                }
                let empty = try Program.require(Apus.path, "trash", "list", folder.point)
                #expect(empty.contains("Nothing is in the trash"))
                try Apus.expectRefusal(
                    "trash", "restore", folder.local("Photos/a.jpg"), naming: "trash list")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `replace nothing, go where they are told to, and are found by name`() throws {
            try Self.withDeleted { folder in
                try Files.makeDirectory(folder.local("Photos"))
                try Files.write([1], to: folder.local("Photos/a.jpg"))
                let restored = try Program.require(
                    Apus.path, "trash", "restore", folder.local("Photos/a.jpg"))
                #expect(restored.contains("Photos/a.jpg is now Photos/a (restored "), "\(restored)")
                #expect(try Files.read(folder.local("Photos/a.jpg")) == [1])
                let name = try #require(
                    try Files.names(in: folder.local("Photos")).first { $0 != "a.jpg" })
                try Self.expectWhole("Photos/\(name)", of: "Photos/a.jpg", folder)
                try Program.require(
                    Apus.path, "trash", "restore", folder.local("Photos/old"), "--to",
                    folder.local("Back/here"))
                try Self.expectWhole("Back/here/old/b.jpg", of: "Photos/old/b.jpg", folder)
                try folder.sync()
                #expect(
                    try Files.read(folder.remote("Photos/\(name)")) == Self.content("Photos/a.jpg"))
            }
        }

        /// Goal: what is in the trash can be seen without a mount, and a restore says what it needs.
        @Test(.timeLimit(.minutes(2)))
        func `are listed without a mount, and restored after the next one`() throws {
            try Self.withDeleted { folder in
                try folder.unmount()
                let list = try Program.require(Apus.path, "trash", "list", "--json", folder.state)
                for path in Self.files { #expect(list.contains("\"\(path)\""), "\(list)") }
                try Apus.expectRefusal("trash", "list", "/proc", naming: "list the trash of /proc")
                // The state is not in the default place: without it, another one would be mounted.
                let command =
                    "apus mount \(folder.source) \(folder.point) --state-dir \(folder.state)"
                try Apus.expectRefusal(
                    "trash", "restore", folder.state, naming: "not mounted", "`\(command)`")
                try Apus.expectRefusal(
                    "forget", folder.state, naming: "the only copies of 2 files", "--discard")
                try Program.require(
                    "sh", "-c", command.replacing("apus", with: Apus.path, maxReplacements: 1))
                try Program.require(Apus.path, "trash", "restore", folder.local("Photos"))
                for path in Self.files { try Self.expectWhole(path, of: path, folder) }
            }
        }
    }
}
