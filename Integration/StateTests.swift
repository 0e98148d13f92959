import GRDB
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `The state of a file` {
        @Test(.timeLimit(.minutes(2)))
        func `goes from remote over partial to local, dirty, uploading, local and remote`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=4MiB"
            let bytes = TestBytes.random(12 << 20, seed: 4)
            try MountedFolder.with(options) { remote in
                try Files.write(bytes, to: remote + "/movie")
            } _: { folder in
                #expect(try folder.state(of: "movie") == "remote")

                let file = try OpenFile(folder.local("movie"), O_RDONLY)
                #expect(try file.read(65_536) == Array(bytes.prefix(65_536)))
                #expect(try folder.state(of: "movie") == "partial")
                #expect(try file.readAll() == bytes)
                #expect(try folder.state(of: "movie") == "local")
                try file.close()

                let writing = try OpenFile(folder.local("movie"), O_WRONLY)
                try writing.write([1, 2, 3], at: 1000)
                #expect(try folder.state(of: "movie") == "dirty")
                try writing.close()
                #expect(try folder.state(of: "movie") == "dirty")
                try eventually("uploading") { try folder.state(of: "movie") == "uploading" }
                try folder.sync()
                #expect(try folder.state(of: "movie") == "local")

                try folder.evict("movie")
                #expect(try folder.state(of: "movie") == "remote")
                #expect(
                    try OpenFile(folder.local("movie"), O_RDONLY).read(3, at: 1000) == [1, 2, 3])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is in a database that no other process can open`() throws {
            try MountedFolder.with { folder in
                let error = try #require(throws: DatabaseError.self) {
                    let database = try DatabaseQueue(path: "\(folder.state)/state.sqlite")
                    _ = try database.read { try Int.fetchOne($0, sql: "SELECT 1 FROM inodes") }
                }
                #expect(error.resultCode == .SQLITE_BUSY)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is told to those who ask by name, and not copied with the file`() throws {
            try MountedFolder.with { remote in
                try Files.write([1], to: remote + "/file")
            } _: { folder in
                let file = folder.local("file")
                #expect(try Program.require("getfattr", "--absolute-names", "-d", file) == "")
                let copy = folder.base + "/copy"
                try Program.require("cp", "-a", file, copy)
                #expect(try Program.require("getfattr", "--absolute-names", "-d", copy) == "")
                let other = try Program.run("getfattr", "-n", "user.other", file)
                #expect(other.status == 1, "\(other)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is dirty until uploaded, and dirty files are not evicted`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=1MiB"
            let bytes = TestBytes.random(4 << 20, seed: 5)
            try MountedFolder.with(options) { folder in
                try Files.write(bytes, to: folder.local("new"))
                try Apus.expectRefusal("evict", folder.local("new"), naming: "new")
                #expect(try Files.read(folder.local("new")) == bytes)
                try folder.sync()
                try folder.evict("new")
                #expect(try Files.read(folder.local("new")) == bytes)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `frees the disk when it becomes remote again`() throws {
            try MountedFolder.with { remote in
                try Files.makeDirectory(remote + "/album")
                for number in 0..<4 {
                    try Files.write(
                        TestBytes.random(2 << 20, seed: 6), to: "\(remote)/album/\(number)")
                }
            } _: { folder in
                for number in 0..<4 { _ = try Files.read(folder.local("album/\(number)")) }
                let before = try kibibytes(below: folder.state)
                try folder.evict("album")
                let after = try kibibytes(below: folder.state)
                // The database in the same directory may have grown a little meanwhile.
                #expect(before - after > 7 * 1024)
                #expect(try folder.state(of: "album/0") == "remote")
                try expectEqualTrees(folder)
            }
        }

        private func kibibytes(below path: String) throws -> Int {
            let output = try Program.require("du", "-sk", path)
            return try #require(Int(output.prefix { $0.isNumber }))
        }
    }
}
