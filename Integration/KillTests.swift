import Foundation
import Glibc
import Synchronization
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `A killed daemon` {
        /// Goal: a change that `close`, `rename` or `unlink` has acknowledged survives `kill -9`
        /// (I1), and what is queued reaches the remote (I6).
        ///
        /// Method: one thread writes 1,000 files and now and then overwrites, moves or removes one,
        /// and repeats what failed; another kills the daemon ten times at random and mounts again.
        @Test(.timeLimit(.minutes(4)))
        func `loses nothing that was closed, ten times over`() throws {
            var random = SeededRandom.announced("a killed daemon")
            try MountedFolder.with { folder in
                let killer = Killer(folder, kills: 10, files: 1000, random: &random)
                let thread = Thread { killer.run() }
                thread.start()
                var writer = AcknowledgedWriter(folder, random: random)
                do {
                    for number in 0..<1000 {
                        try writer.step(number)
                        killer.report(done: number + 1)
                    }
                } catch {
                    killer.stop()
                    throw error
                }
                try killer.finish()

                try folder.sync()
                let remote = try writer.contents(below: folder.remote)
                print("a killed daemon: \(writer.failures) calls failed and were repeated")
                #expect(writer.differences(from: remote) == [], "expected against remote")
                let local = try writer.contents(below: folder.point)
                #expect(writer.differences(from: local) == [], "expected against local")
            }
        }

        /// Goal: the daemon has written a commit to its log before it answers.
        @Test(.timeLimit(.minutes(2)))
        func `keeps each name whose creation was answered`() throws {
            try MountedFolder.with { folder in
                var expected: Set<String> = []
                for round in 0..<5 {
                    for number in 0...round {
                        let name = "\(round)-\(number)"
                        try #require(mkdir(folder.local(name), 0o755) == 0)
                        expected.insert(name)
                    }
                    try folder.killDaemon()
                    try folder.remount()
                    #expect(try Set(Files.names(in: folder.point)) == expected)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `does not lose an upload that was under way`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=2MiB"
            let bytes = TestBytes.random(5 << 20, seed: 13)
            try MountedFolder.with(options) { folder in
                try Files.write(bytes, to: folder.local("new"))
                try eventually("uploading") { try folder.state(of: "new") == "uploading" }
                try folder.killDaemon()
                #expect(!Files.exists(folder.remote("new")))
                do {
                    _ = try Files.names(in: folder.point)
                    Issue.record("a mount whose daemon was killed still answers")
                } catch let error as CallError {
                    #expect(error.meansDeadMount, "\(error)")
                }
                try folder.remount()
                #expect(try Files.read(folder.local("new")) == bytes)
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == bytes)
                #expect(try Files.names(in: folder.remote) == ["new"], "no temporary is left")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `leaves a half written file with what was written`() throws {
            try MountedFolder.with { remote in
                try Files.write(Array("the old content".utf8), to: remote + "/file")
            } _: { folder in
                let file = try OpenFile(folder.local("file"), O_WRONLY)
                try file.write(Array("THE".utf8))
                try folder.killDaemon()
                try folder.remount()
                #expect(try Files.read(folder.local("file")) == Array("THE old content".utf8))
                try folder.sync()
                #expect(try Files.read(folder.remote("file")) == Array("THE old content".utf8))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `leaves a dead mount that apus unmount takes away`() throws {
            try MountedFolder.with { folder in
                try Files.write([1, 2, 3], to: folder.local("file"))
                try folder.killDaemon()
                try Apus.expectRefusal(
                    "mount", folder.source, folder.point, "--state-dir", folder.state,
                    naming: "apus unmount")
                try Apus.expectRefusal("unmount", folder.point, naming: "had died")
                #expect(!folder.isMounted)
                try folder.mount()
                #expect(try Files.read(folder.local("file")) == [1, 2, 3])
                try folder.sync()
                #expect(try Files.read(folder.remote("file")) == [1, 2, 3])
            }
        }
    }
}
