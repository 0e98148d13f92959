import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Changes on the remote` {
        private static let refreshing: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            return options
        }()

        @Test(.timeLimit(.minutes(2)))
        func `show up at once after apus refresh`() throws {
            var options = MountedFolder.Options()
            options.source = "watch=no"
            options.mount = ["--refresh", "1h"]
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory("\(remote)/outer")
                try Files.makeDirectory("\(remote)/outer/inner")
                try Files.makeDirectory("\(remote)/beside")
                try Files.write([1], to: "\(remote)/outer/inner/old")
            } _: { folder in
                #expect(try Files.names(in: folder.local("outer/inner")) == ["old"])
                #expect(try Files.names(in: folder.local("beside")) == [])
                try Files.write([2], to: folder.remote("outer/inner/new"))
                try Files.unlink(folder.remote("outer/inner/old"))
                try Files.write([3], to: folder.remote("beside/new"))
                let said = try Program.require(Apus.path, "refresh", folder.local("outer"))
                #expect(said.contains("2 folders are up to date"))
                #expect(try Files.names(in: folder.local("outer/inner")) == ["new"])
                #expect(try Files.read(folder.local("outer/inner/new")) == [2])
                #expect(try Files.names(in: folder.local("beside")) == [])
                // A file is looked at with its folder.
                try Files.write([4], to: folder.remote("outer/inner/newer"))
                try Program.require(Apus.path, "refresh", folder.local("outer/inner/new"))
                #expect(try Files.names(in: folder.local("outer/inner")) == ["new", "newer"])
                try Program.require(Apus.path, "refresh", folder.point)
                #expect(try Files.names(in: folder.local("beside")) == ["new"])
            }
        }

        /// Method: no listing is due while this runs.
        @Test(.timeLimit(.minutes(2)))
        func `made while nothing was mounted are there at the first look`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1h"]
            try MountedFolder.with(options) { remote in
                for name in ["named", "listed", "told"] {
                    try Files.makeDirectory("\(remote)/\(name)")
                }
            } _: { folder in
                for name in ["named", "listed", "told"] {
                    #expect(try Files.names(in: folder.local(name)) == [])
                }
                try folder.unmount()
                for name in ["named", "listed", "told"] {
                    try Files.write([1], to: folder.remote("\(name)/new"))
                }
                try folder.mount()
                #expect(try Files.read(folder.local("named/new")) == [1])
                #expect(try Files.names(in: folder.local("listed")) == ["new"])
                #expect(
                    try Program.require(Apus.path, "ls", folder.local("told")).contains("new"))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `show up in the mount after a refresh`() throws {
            try MountedFolder.with(Self.refreshing) { remote in
                for name in ["changes", "goes", "stays"] {
                    try Files.write(Array(name.utf8), to: "\(remote)/\(name)")
                }
            } _: { folder in
                #expect(try Files.names(in: folder.point) == ["changes", "goes", "stays"])
                #expect(try Files.read(folder.local("changes")) == Array("changes".utf8))

                try Files.replace(folder.remote("changes"), with: Array("has changed".utf8))
                try Files.unlink(folder.remote("goes"))
                try Files.write(Array("new".utf8), to: folder.remote("comes"))
                try Files.makeDirectory(folder.remote("directory"))
                try Files.write([1], to: folder.remote("directory/inside"))

                try eventually("the listing is the new one") {
                    try Files.names(in: folder.point) == ["changes", "comes", "directory", "stays"]
                }
                try eventually("the content is the new one") {
                    try Files.holds(Array("has changed".utf8), at: folder.local("changes"))
                }
                #expect(try Files.read(folder.local("comes")) == Array("new".utf8))
                #expect(try Files.read(folder.local("directory/inside")) == [1])
                #expect(try Files.read(folder.local("stays")) == Array("stays".utf8))
                expectFailure(ENOENT) { () throws(CallError) in
                    _ = try Files.status(folder.local("goes"))
                }
                try expectEqualTrees(folder)
            }
        }

        /// Method: no listing finds the change, as none is due while this runs.
        @Test(.timeLimit(.minutes(2)))
        func `that nobody has looked for yet are found by whoever opens a file`() throws {
            var options = MountedFolder.Options()
            options.source = "watch=no"
            options.mount = ["--refresh", "1h"]
            let names = ["append", "edit", "goes", "read"]
            try MountedFolder.with(options) { remote in
                for name in names { try Files.write([1, 1], to: "\(remote)/\(name)") }
            } _: { folder in
                #expect(try Files.names(in: folder.point) == names)
                for name in names { _ = try Files.status(folder.local(name)) }
                for name in ["append", "edit", "read"] {
                    try Files.replace(folder.remote(name), with: [2, 2, 2])
                }
                try Files.unlink(folder.remote("goes"))

                #expect(try Files.read(folder.local("read")) == [2, 2, 2])
                let end = try OpenFile(folder.local("append"), O_WRONLY | O_APPEND | O_CREAT)
                try end.write([3])
                try end.close()
                let middle = try OpenFile(folder.local("edit"), O_RDWR)
                try middle.write([3], at: 1)
                try middle.close()
                let anew = try OpenFile(folder.local("goes"), O_WRONLY | O_APPEND | O_CREAT)
                try anew.write([3])
                try anew.close()
                try folder.sync()
                #expect(try Files.names(in: folder.remote) == names)
                #expect(try Files.read(folder.remote("append")) == [2, 2, 2, 3])
                #expect(try Files.read(folder.remote("edit")) == [2, 3, 2])
                #expect(try Files.read(folder.remote("goes")) == [3])
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `leave an open handle with the version that it opened`() throws {
            let old = TestBytes.random(300_000, seed: 9)
            let new = TestBytes.random(200_000, seed: 10)
            try MountedFolder.with(Self.refreshing) { remote in
                try Files.write(old, to: remote + "/file")
            } _: { folder in
                let handle = try OpenFile(folder.local("file"), O_RDONLY)
                #expect(try handle.readAll() == old)
                try Files.replace(folder.remote("file"), with: new)
                try eventually("a new open gets the new version") {
                    try Files.holds(new, at: folder.local("file"))
                }
                #expect(try handle.read(old.count) == old)
                #expect(try handle.status().st_size == old.count)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `never mix with the old bytes of a file that was half read`() throws {
            var options = Self.refreshing
            options.source = "rate=2MiB"
            let old = TestBytes.random(6 << 20, seed: 11)
            let new = TestBytes.random(6 << 20, seed: 12)
            try MountedFolder.with(options) { remote in
                try Files.write(old, to: remote + "/file")
            } _: { folder in
                let handle = try OpenFile(folder.local("file"), O_RDONLY)
                #expect(try handle.read(4096) == Array(old.prefix(4096)))
                try Files.replace(folder.remote("file"), with: new)
                // The rest of the old version is gone; an error is right, other bytes are not.
                do {
                    let end = try handle.read(4096, at: old.count - 4096)
                    #expect(end == Array(old.suffix(4096)))
                } catch let error as CallError {
                    #expect([ESTALE, EIO].contains(error.code), "\(error)")
                }
                try eventually("a new open gets the new version") {
                    try Files.holds(new, at: folder.local("file"))
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `that meet a local change leave both versions on both sides`() throws {
            try MountedFolder.with { remote in
                try Files.write(Array("base".utf8), to: remote + "/file.txt")
            } _: { folder in
                let handle = try OpenFile(folder.local("file.txt"), O_RDWR)
                try handle.write(Array("mine".utf8))
                try Files.replace(folder.remote("file.txt"), with: Array("theirs".utf8))
                try handle.close()
                try folder.sync()

                #expect(try Files.read(folder.remote("file.txt")) == Array("theirs".utf8))
                let names = try Files.names(in: folder.remote)
                let conflict = try #require(
                    names.first { $0.hasPrefix("file (conflict ") && $0.hasSuffix(").txt") },
                    "\(names)")
                #expect(names.count == 2)
                #expect(try Files.read(folder.remote(conflict)) == Array("mine".utf8))
                try eventually("the mount shows both") {
                    try Files.names(in: folder.point) == names
                }
                try expectEqualTrees(folder)
            }
        }
    }
}
