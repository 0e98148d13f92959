import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `A file that is only partly here` {
        /// Far enough away that a file is not whole before it is overwritten.
        private static let farAway: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.source = "latency=20ms&rate=2MiB"
            options.mount = ["--refresh", "1s"]
            return options
        }()
        private static let base = TestBytes.random((6 << 20) + 4321, seed: 21)

        @Test(.timeLimit(.minutes(2)))
        func `is the base version with what was overwritten, after a kill and on the remote`()
            throws
        {
            try MountedFolder.with(Self.farAway) { remote in
                try Files.write(Self.base, to: remote + "/movie")
            } _: { folder in
                var expected = Self.base
                let file = try OpenFile(folder.local("movie"), O_RDWR)
                let inode = try file.status().st_ino
                #expect(
                    try file.read(1000, at: 3 << 20) == Array(expected[(3 << 20)...].prefix(1000)))
                // Across pages, within one, and beyond the end.
                for (offset, count, seed) in [
                    (1_500_001, 100_003, 31), (5 << 20, 4096, 32), (Self.base.count, 777, 33),
                ] as [(Int, Int, UInt64)] {
                    let bytes = TestBytes.random(count, seed: seed)
                    try file.write(bytes, at: offset)
                    expected.replaceSubrange(
                        offset..<min(offset + count, expected.count), with: bytes)
                }
                try file.synchronize()
                try folder.killDaemon()
                try requirePartial(folder, inode)

                try folder.remount()
                #expect(try Files.status(folder.local("movie")).st_size == expected.count)
                try folder.sync()
                #expect(try Files.read(folder.remote("movie")) == expected)
                #expect(try Files.read(folder.local("movie")) == expected)
                #expect(
                    try Files.names(in: folder.remote) == ["movie"], "no conflict, no temporary")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `and was cut and grown keeps zeros where it was cut`() throws {
            try MountedFolder.with(Self.farAway) { remote in
                try Files.write(Self.base, to: remote + "/movie")
            } _: { folder in
                let cut = 2_500_017
                var expected = Array(Self.base.prefix(cut))
                let file = try OpenFile(folder.local("movie"), O_RDWR)
                let inode = try file.status().st_ino
                try file.truncate(to: cut)
                try file.truncate(to: 4 << 20)
                expected += [UInt8](repeating: 0, count: (4 << 20) - cut)
                let bytes = TestBytes.random(5000, seed: 34)
                try file.write(bytes, at: 2_000_000)
                expected.replaceSubrange(2_000_000..<2_005_000, with: bytes)
                try file.synchronize()
                try folder.killDaemon()
                try requirePartial(folder, inode)

                try folder.remount()
                try folder.sync()
                #expect(try Files.read(folder.remote("movie")) == expected)
                #expect(try Files.read(folder.local("movie")) == expected)
            }
        }

        /// Goal: what was overwritten is not lost, and no version is made of two (I2, I5), where the
        /// version that it was written into is gone.
        @Test(.timeLimit(.minutes(2)))
        func `is never completed from another version than its own`() throws {
            try MountedFolder.with(Self.farAway) { remote in
                try Files.write(Self.base, to: remote + "/movie")
            } _: { folder in
                let mine = TestBytes.random(25 * 4096, seed: 35)
                // Its first page is only partly here.
                let tail = TestBytes.random(777, seed: 37)
                let theirs = TestBytes.random(Self.base.count, seed: 36)
                let file = try OpenFile(folder.local("movie"), O_RDWR)
                let inode = try file.status().st_ino
                try file.write(mine, at: 3 << 20)
                try file.write(tail, at: Self.base.count)
                try file.synchronize()
                try folder.killDaemon()
                try requirePartial(folder, inode)
                try Files.replace(folder.remote("movie"), with: theirs)

                try folder.remount()
                let sync = try Apus.run("sync", folder.point)
                #expect(sync.status == 1, "\(sync)")
                #expect(try Files.read(folder.remote("movie")) == theirs)
                #expect(try Files.names(in: folder.remote) == ["movie"])
                #expect(try Files.read(folder.local("movie")) == theirs)

                let report = try folder.report()
                let conflict = try #require(report.conflicts.first, "\(report)")
                #expect(conflict.conflictsWith == "movie")
                let failed = try #require(
                    report.items.first { $0.path == conflict.path && $0.error != nil }, "\(report)")
                #expect(
                    failed.error?.remedy?.contains("of \(Self.base.count + tail.count)") == true)
                #expect(sync.output.contains(conflict.path), "\(sync)")
                // What was written is there, and the rest says that it is not.
                let kept = try OpenFile(folder.local(conflict.path), O_RDONLY)
                #expect(try kept.read(mine.count, at: 3 << 20) == mine)
                #expect(try kept.read(100, at: (3 << 20) + 1) == Array(mine[1...100]))
                #expect(try kept.read(1_000, at: Self.base.count) == tail)
                expectFailure(ESTALE) { () throws(CallError) in
                    _ = try kept.read(4096, at: 5 << 20)
                }
            }
        }

        /// - Throws: If the whole file is here, so that the test would show nothing.
        private func requirePartial(_ folder: MountedFolder, _ inode: UInt) throws {
            let here = try folder.bytesHere(ofInode: inode)
            try #require(
                (1..<(Self.base.count - (1 << 20))).contains(here),
                "\(here) bytes were here when it was killed")
        }
    }
}
