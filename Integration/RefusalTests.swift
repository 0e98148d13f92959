import Foundation
import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `Refusals` {
        @Test(.timeLimit(.minutes(1)))
        func `a missing mount point`() throws {
            try withDirectories { folder in
                try Apus.expectRefusal(
                    "mount", folder.source, "\(folder.base)/none", "--state-dir", folder.state,
                    naming: "none")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `a mount point that is not empty`() throws {
            try withDirectories { folder in
                try Files.write([1], to: folder.local("file"))
                try Apus.expectRefusal(
                    "mount", folder.source, folder.point, "--state-dir", folder.state,
                    naming: "empty")
                #expect(try Files.read(folder.local("file")) == [1])
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `a misspelled source`() throws {
            try withDirectories { folder in
                try Apus.expectRefusal(
                    "mount", "foldr:\(folder.remote)", folder.point, "--state-dir", folder.state,
                    naming: "foldr", "folder:")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `a misspelled option of a source`() throws {
            try withDirectories { folder in
                try Apus.expectRefusal(
                    "mount", "folder:\(folder.remote)?latenzy=1ms", folder.point, "--state-dir",
                    folder.state, naming: "latenzy")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `a source folder that is not there`() throws {
            try withDirectories { folder in
                try Apus.expectRefusal(
                    "mount", "folder:\(folder.base)/absent", folder.point, "--state-dir",
                    folder.state, naming: "absent")
            }
        }

        /// Method: a folder that is missing, a port that refuses, a store without credentials, each with
        /// a state directory that is missing, empty, or holds a state.
        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                "folder:/absent/folder", "webdav+http://127.0.0.1:9/dav",
                "s3://bucket?endpoint=http://127.0.0.1:9",
            ], [[], ["--foreground"]])
        func `a source that cannot be reached leaves no state behind, and an older one as it was`(
            source: String, options: [String]
        ) throws {
            try withDirectories { folder in
                func refuse() throws {
                    let result = try Apus.run(
                        ["mount", source, folder.point, "--state-dir", folder.state] + options)
                    #expect(result.status == 1, "\(result)")
                }
                try refuse()
                #expect(!Files.exists(folder.state))
                try Program.require("mkdir", "-m", "700", folder.state)
                try refuse()
                #expect(try Files.names(in: folder.state).isEmpty)
                try folder.mount()
                try Files.write([1, 2, 3], to: folder.local("kept"))
                try folder.unmount(now: true)
                try refuse()
                try folder.mount()
                #expect(try Files.read(folder.local("kept")) == [1, 2, 3])
                try folder.unmount()
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `a second mount with the same state directory`() throws {
            try MountedFolder.with { folder in
                let second = "\(folder.base)/second"
                try Files.makeDirectory(second)
                try Apus.expectRefusal(
                    "mount", folder.source, second, "--state-dir", folder.state, naming: "state")
                #expect(try Files.names(in: second).isEmpty)
                try Files.write([1], to: folder.local("still-usable"))
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `a command for a folder that is not mounted`() throws {
            try withDirectories { folder in
                for command in ["status", "sync", "evict", "pin", "unpin", "unmount"] {
                    try Apus.expectRefusal(command, folder.point, naming: "mount")
                }
            }
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: geteuid() == 0, "a full disk takes root"))
        func `a state directory on a full disk`() throws {
            try withDirectories { folder in
                let disk = "\(folder.base)/disk"
                try Files.makeDirectory(disk)
                try Program.require("mount", "-t", "tmpfs", "-o", "size=64k", "none", disk)
                defer { _ = try? Program.run("umount", "-l", disk) }
                try Program.run("dd", "if=/dev/zero", "of=\(disk)/filler", "bs=4k")
                try Apus.expectRefusal(
                    "mount", folder.source, folder.point, "--state-dir", "\(disk)/state",
                    naming: "space")
            }
        }

        /// Goal: a start that fails after the database was opened ends its process, and leaves the state
        /// to the next one.
        ///
        /// Method: the directory for clones cannot be used; then the state is that of another source.
        @Test(.timeLimit(.minutes(1)))
        func `a start that fails half-way leaves nothing running, and the state as it was`() throws
        {
            try withDirectories { folder in
                try folder.mount()
                try Files.write([1, 2, 3], to: folder.local("kept"))
                try folder.unmount(now: true)
                let (clones, other) = ("\(folder.state)/clones", "\(folder.base)/other")
                try Program.require("rmdir", clones)
                try Files.write([], to: clones)
                try expectNothingLeft(folder, folder.source, naming: "clone")
                try Files.unlink(clones)
                try Files.makeDirectory(other)
                try expectNothingLeft(folder, "folder:\(other)", naming: "it belongs to")
                try folder.mount()
                #expect(try Files.read(folder.local("kept")) == [1, 2, 3])
                try folder.unmount()
            }
        }

        private func expectNothingLeft(
            _ folder: MountedFolder, _ source: String, naming word: String
        ) throws {
            try Apus.expectRefusal(
                "mount", source, folder.point, "--state-dir", folder.state, naming: word)
            // The brackets keep the pattern from matching this command itself.
            try eventually("the daemon has ended") {
                try Program.run("pgrep", "-f", "[-]-state-dir \(folder.state)").status == 1
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `bad usage exits with status 2`() throws {
            for arguments in [["frobnicate"], ["mount"], ["sync", "--frobnicate"], ["apply"]] {
                let result = try Apus.run(arguments)
                #expect(result.status == 2, "\(result)")
            }
        }

        /// Directories as for a mount, with nothing mounted; checks that nothing became so.
        private func withDirectories(_ body: (MountedFolder) throws -> Void) throws {
            let folder = try MountedFolder()
            defer { folder.remove() }
            try body(folder)
            #expect(!folder.isMounted)
        }
    }
}
