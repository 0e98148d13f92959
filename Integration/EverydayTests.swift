import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Everyday operations` {
        @Test(.timeLimit(.minutes(2)))
        func `what was made through the mount is on the remote after a sync`() throws {
            try MountedFolder.with { folder in
                try Files.makeDirectory(folder.local("album"), mode: 0o750)
                try Files.write(Array("first\n".utf8), to: folder.local("album/notes.txt"))
                try Files.write(
                    TestBytes.random(3_000_001, seed: 1), to: folder.local("album/movie.mov"))
                try Files.write([], to: folder.local("empty"))
                try Files.link("album/notes.txt", at: folder.local("link"))
                try Files.setMode(0o600, of: folder.local("album/notes.txt"))
                try Files.setModified(
                    seconds: 1_000_000_000, nanoseconds: 123_456_789, of: folder.local("empty"))

                try folder.sync()

                try expectEqualTrees(folder)
                #expect(
                    Set(try TreeSnapshot(of: folder.remote).entries.keys)
                        == ["/album", "/album/notes.txt", "/album/movie.mov", "/empty", "/link"])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `what is on the remote is read through the mount`() throws {
            let movie = TestBytes.random(5_000_003, seed: 2)
            try MountedFolder.with { remote in
                try Files.makeDirectory(remote + "/album")
                try Files.write(movie, to: remote + "/album/movie.mov")
                try Files.link("album", at: remote + "/shortcut")
                try Files.setMode(0o640, of: remote + "/album/movie.mov")
            } _: { folder in
                let file = try OpenFile(folder.local("shortcut/movie.mov"), O_RDONLY)
                #expect(try file.read(10, at: 4_999_990) == Array(movie[4_999_990..<5_000_000]))
                #expect(try file.read(10, at: 4_999_999) == Array(movie[4_999_999...]))
                #expect(try file.read(10, at: 5_000_003) == [])
                #expect(try Files.read(folder.local("album/movie.mov")) == movie)
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a file is appended to, cut, grown and written in its middle`() throws {
            try MountedFolder.with { remote in
                try Files.write(TestBytes.random(100_000, seed: 3), to: remote + "/data")
            } _: { folder in
                var expected = TestBytes.random(100_000, seed: 3)
                let path = folder.local("data")

                let middle = try OpenFile(path, O_RDWR)
                try middle.write(Array("middle".utf8), at: 50_000)
                expected.replaceSubrange(50_000..<50_006, with: Array("middle".utf8))
                try middle.close()

                let end = try OpenFile(path, O_WRONLY | O_APPEND)
                try end.append(Array("end".utf8))
                expected += Array("end".utf8)
                try end.close()
                #expect(try Files.status(path).st_size == 100_003)

                try CallError.check(truncate(path, 60_000), "truncate")
                expected.removeLast(expected.count - 60_000)
                let grown = try OpenFile(path, O_RDWR)
                try grown.truncate(to: 70_000)
                expected += [UInt8](repeating: 0, count: 10_000)
                try grown.synchronize()
                #expect(try grown.readAll() == expected)
                try grown.close()

                try folder.sync()
                #expect(try Files.read(folder.remote("data")) == expected)
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `names are replaced, moved and removed on both sides`() throws {
            try MountedFolder.with { remote in
                for name in ["old", "target", "gone"] {
                    try Files.write(Array(name.utf8), to: "\(remote)/\(name)")
                }
                try Files.makeDirectory(remote + "/from")
                try Files.write(Array("deep".utf8), to: remote + "/from/deep")
                try Files.makeDirectory(remote + "/empty")
            } _: { folder in
                try Files.rename(folder.local("old"), to: folder.local("target"))
                try Files.unlink(folder.local("gone"))
                try Files.rename(folder.local("from"), to: folder.local("to"))
                try Files.removeDirectory(folder.local("empty"))
                #expect(try Files.names(in: folder.point) == ["target", "to"])

                try folder.sync()

                #expect(try Files.names(in: folder.remote) == ["target", "to"])
                #expect(try Files.read(folder.remote("target")) == Array("old".utf8))
                #expect(try Files.read(folder.remote("to/deep")) == Array("deep".utf8))
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `what POSIX forbids fails with the errno that POSIX names`() throws {
            try MountedFolder.with { remote in
                try Files.makeDirectory(remote + "/full")
                try Files.write([1], to: remote + "/full/file")
            } _: { folder in
                let full = folder.local("full")
                expectFailure(ENOTEMPTY) { () throws(CallError) in
                    try Files.removeDirectory(full)
                }
                expectFailure(EEXIST) { () throws(CallError) in try Files.makeDirectory(full) }
                expectFailure(ENOENT) { () throws(CallError) in
                    _ = try Files.status(folder.local("none"))
                }
                expectFailure(ENOTDIR) { () throws(CallError) in
                    _ = try Files.status(full + "/file/x")
                }
                expectFailure(EISDIR) { () throws(CallError) in
                    _ = try OpenFile(full, O_WRONLY)
                }
                expectFailure(EINVAL) { () throws(CallError) in
                    try Files.rename(full, to: full + "/below")
                }
                expectFailure(EEXIST) { () throws(CallError) in
                    _ = try OpenFile(full + "/file", O_WRONLY | O_CREAT | O_EXCL)
                }
                let tooLong = String(repeating: "n", count: 256)
                expectFailure(ENAMETOOLONG) { () throws(CallError) in
                    try Files.write([], to: folder.local(tooLong))
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `an unlinked file lives on until it is closed`() throws {
            try MountedFolder.with { folder in
                let path = folder.local("scratch")
                let file = try OpenFile(path, O_RDWR | O_CREAT)
                try file.write(Array("still here".utf8))
                try Files.unlink(path)
                #expect(!Files.exists(path))
                try file.write(Array("STILL".utf8))
                #expect(try file.readAll() == Array("STILL here".utf8))
                try file.close()
                try folder.sync()
                #expect(try Files.names(in: folder.remote).isEmpty)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a read-only mount refuses every change`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--read-only"]
            try MountedFolder.with(options) { remote in
                try Files.write([7], to: remote + "/file")
            } _: { folder in
                let bytes = try Files.read(folder.local("file"))
                #expect(bytes == [7])
                expectFailure(EROFS) { () throws(CallError) in
                    try Files.write([8], to: folder.local("file"))
                }
                expectFailure(EROFS) { () throws(CallError) in
                    try Files.makeDirectory(folder.local("new"))
                }
                expectFailure(EROFS) { () throws(CallError) in
                    try Files.unlink(folder.local("file"))
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `everything is there again after unmounting and mounting`() throws {
            try MountedFolder.with { folder in
                try Files.makeDirectory(folder.local("kept"))
                try Files.write(Array("kept".utf8), to: folder.local("kept/file"))
                let before = try Files.status(folder.local("kept/file"))
                try folder.unmount()
                #expect(try Files.names(in: folder.point).isEmpty)
                try folder.mount()
                let after = try Files.status(folder.local("kept/file"))
                #expect(after.st_ino == before.st_ino, "inode numbers are for life")
                #expect(after.st_mtim.tv_sec == before.st_mtim.tv_sec)
                #expect(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
                #expect(try Files.read(folder.local("kept/file")) == Array("kept".utf8))
            }
        }
    }
}

/// Checks that local and remote hold the same names, bytes, modes and times.
func expectEqualTrees(
    _ folder: MountedFolder, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let differences = try TreeSnapshot(of: folder.point).differences(
        from: TreeSnapshot(of: folder.remote))
    #expect(
        differences.isEmpty, "local against remote: \(differences.prefix(20))",
        sourceLocation: sourceLocation)
}

/// Checks that a call fails, and with which `errno`.
func expectFailure(
    _ code: Int32, sourceLocation: SourceLocation = #_sourceLocation,
    _ call: () throws(CallError) -> Void
) {
    do {
        try call()
        Issue.record(
            "succeeded instead of: \(String(cString: strerror(code)))",
            sourceLocation: sourceLocation)
    } catch {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    }
}
