import Foundation
import GRDB
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Checking a state` {
        /// Leaves a state behind that holds a file which is not on the remote.
        private func withState(_ body: (MountedFolder) throws -> Void) throws {
            var options = MountedFolder.Options()
            options.source = "rate=64KiB"
            try MountedFolder.with(options) { folder in
                try Files.write(Array("small".utf8), to: folder.local("small"))
                try folder.sync()
                try Files.write(TestBytes.random(1 << 20, seed: 9), to: folder.local("new"))
                try folder.unmount(now: true)
                try body(folder)
            }
        }

        private func database(_ folder: MountedFolder) -> String { "\(folder.state)/state.sqlite" }

        private func execute(_ sql: String, _ folder: MountedFolder) throws {
            let queue = try DatabaseQueue(path: database(folder))
            try queue.write { try $0.execute(sql: sql) }
            try queue.close()
        }

        /// Checks that a mount is refused, and leaves the database as it is.
        private func expectRefusal(_ folder: MountedFolder, naming word: String) throws {
            let before = try Files.read(database(folder))
            try Apus.expectRefusal(
                "mount", folder.source, folder.point, "--state-dir", folder.state, naming: word,
                database(folder))
            #expect(try Files.read(database(folder)) == before)
            #expect(!folder.isMounted)
        }

        @Test(.timeLimit(.minutes(2)))
        func `finds nothing after an unmount, and after a kill`() throws {
            try withState { folder in
                let result = try Apus.run("check", folder.point, "--state-dir")
                #expect(result.status == 2, "\(result)")
                for dryRun in [["--dry-run"], []] {
                    let result = try Apus.run(["check", folder.state] + dryRun)
                    #expect(result.status == 0, "\(result)")
                    #expect(result.output.contains("in order."), "\(result)")
                }
                try folder.mount()
                try Files.write([1, 2, 3], to: folder.local("newer"))
                try folder.killDaemon()
                let json = try Apus.run("check", folder.state, "--json")
                #expect(json.status == 0, "\(json)")
                #expect(json.output.contains("\"isHealthy\" : true"), "\(json)")
                try folder.remount()
                try folder.sync()
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is refused while it is mounted`() throws {
            try MountedFolder.with { folder in
                let process = try #require(folder.daemon)
                for argument in [folder.state, folder.point] {
                    try Apus.expectRefusal(
                        "check", argument, naming: "\(process)", folder.point)
                }
                try Files.write([1], to: folder.local("still-usable"))
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `is refused where there is none`() throws {
            let folder = try MountedFolder()
            defer { folder.remove() }
            try Apus.expectRefusal("check", folder.point, naming: "--state-dir")
            #expect(try Files.names(in: folder.point) == [])
        }

        @Test(.timeLimit(.minutes(2)))
        func `repairs what was damaged, and the folder goes on`() throws {
            try withState { folder in
                try execute("UPDATE inodes SET links = 5 WHERE kind = 0", folder)
                let told = try Apus.run("check", folder.state, "--dry-run")
                #expect(told.status == 1, "\(told)")
                let result = try Apus.run("check", folder.state)
                #expect(result.status == 0, "\(result)")
                #expect(result.output.contains("repaired: new: "), "\(result)")
                #expect(result.output.contains("2 repaired."), "\(result)")
                try folder.mount()
                try folder.sync()
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `what is lost can be written anew, and is no failure any more`() throws {
            try withState { folder in
                for path in try Program.require("find", "\(folder.state)/content", "-size", "+512k")
                    .split(separator: "\n")
                { try Files.unlink(String(path)) }
                let check = try Apus.run("check", folder.state)
                #expect(check.status == 1 && check.output.contains("lost: new"), "\(check)")
                try folder.mount()
                let file = folder.local("new")
                expectFailure(EIO) { () throws(CallError) in _ = try Files.read(file) }
                try Apus.expectRefusal("evict", file, naming: "replace it with a copy")
                #expect(try Apus.run("sync", folder.point).status == 1)

                try Program.require("cp", folder.local("small"), file)
                #expect(try Files.read(file) == Array("small".utf8))
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == Array("small".utf8))
            }
        }

        @Test(
            .timeLimit(.minutes(2)), arguments: [("99", "newer version"), ("9", "first release")])
        func `a database of another version is refused by mount and check, and not changed`(
            version: String, words: String
        ) throws {
            try withState { folder in
                try execute(
                    "UPDATE grdb_migrations SET identifier = '\(version)' WHERE identifier = 'v1'",
                    folder)
                try expectRefusal(folder, naming: words)
                let before = try Files.read(database(folder))
                try Apus.expectRefusal("check", folder.state, naming: words)
                #expect(try Files.read(database(folder)) == before)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a damaged database is refused by mount, and what it says of is saved`() throws {
            try withState { folder in
                let bytes = try Files.read(folder.remote("small"))
                try execute("PRAGMA user_version", folder)
                let file = try OpenFile(database(folder), O_WRONLY)
                try file.write([UInt8](repeating: 0x5A, count: 200), at: 0)
                try file.close()
                let damaged = try Files.read(database(folder))
                try expectRefusal(folder, naming: "damaged")
                let told = try Apus.run("check", folder.state, "--dry-run")
                #expect(told.status == 1, "\(told)")
                #expect(try Files.read(database(folder)) == damaged)

                let result = try Apus.run("check", folder.state)
                #expect(result.status == 1, "\(result)")
                #expect(result.output.contains("state.sqlite.damaged-1"), "\(result)")
                #expect(try Files.read("\(database(folder)).damaged-1") == damaged)
                let lost = try Files.names(in: "\(folder.state)/lost+found").map {
                    try Files.read("\(folder.state)/lost+found/\($0)")
                }
                #expect(lost.contains(TestBytes.random(1 << 20, seed: 9)))

                #expect(try Apus.run("check", folder.state).status == 0)
                try folder.mount()
                #expect(try Files.read(folder.local("small")) == bytes)
            }
        }

        /// How a database may come to know nothing.
        enum Loss: CaseIterable {
            case gone, emptied, emptiedWithLog, withoutLog, withoutFiles
        }

        private func lose(_ loss: Loss, _ folder: MountedFolder) throws {
            let database = database(folder)
            switch loss {
            case .gone, .emptied, .emptiedWithLog:
                for suffix in ["", "-wal", "-shm"] where Files.exists(database + suffix) {
                    try Files.unlink(database + suffix)
                }
                if loss != .gone { try Files.write([], to: database) }
                if loss == .emptiedWithLog { try Files.write([], to: "\(database)-wal") }
            case .withoutLog:
                // A new database is a page; the rest is in the log.
                try Files.unlink("\(database)-wal")
            case .withoutFiles:
                try execute("DELETE FROM dirents; DELETE FROM inodes WHERE id <> 1", folder)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: Loss.allCases)
        func `contents of which the database does not tell are refused by mount, and kept by check`(
            loss: Loss
        ) throws {
            var options = MountedFolder.Options()
            options.source = "rate=64KiB"
            let bytes = TestBytes.random(1 << 20, seed: 9)
            try MountedFolder.with(options) { folder in
                try Files.write(bytes, to: folder.local("new"))
                try folder.killDaemon()
                try Program.require("fusermount3", "-uz", folder.point)
                try lose(loss, folder)
                let contents = try Program.require("find", "\(folder.state)/content", "-type", "f")
                #expect(!contents.isEmpty)
                let before = Files.exists(database(folder)) ? try Files.read(database(folder)) : nil
                try Apus.expectRefusal(
                    "mount", folder.source, folder.point, "--state-dir", folder.state,
                    naming: "apus check \(folder.state)")
                #expect(!folder.isMounted)
                let after = Files.exists(database(folder)) ? try Files.read(database(folder)) : nil
                #expect(after == before)
                #expect(
                    try Program.require("find", "\(folder.state)/content", "-type", "f")
                        == contents)

                let result = try Apus.run("check", folder.state)
                #expect(result.status == 0, "\(result)")
                let lost = try Files.names(in: "\(folder.state)/lost+found").map {
                    try Files.read("\(folder.state)/lost+found/\($0)")
                }
                #expect(lost.contains(bytes))
                try folder.mount()
            }
        }

        /// Goal: what a mount takes for nobody's is told.
        ///
        /// Method: the same inode number is given out and forgotten twice.
        @Test(.timeLimit(.minutes(2)))
        func `contents that the database does not know are kept, and told of until they are gone`()
            throws
        {
            try withState { folder in
                let lost = "\(folder.state)/lost+found"
                for count in 1...2 {
                    if count == 2 {
                        let content = "\(folder.state)/content/3/3"
                        try Program.require("mkdir", "-p", "\(folder.state)/content/3")
                        try Files.write([2], to: content)
                    }
                    try execute(
                        "DELETE FROM dirents WHERE inode = 3; DELETE FROM pending WHERE inode = 3; "
                            + "DELETE FROM inodes WHERE id = 3", folder)
                    try folder.mount()
                    var lines: [Substring] = []
                    try eventually("a line of the log") {
                        let log = String(
                            decoding: try Files.read("\(folder.state)/log"), as: UTF8.self)
                        lines = log.split(separator: "\n")
                            .filter { $0.contains("ontent without a name kept") }
                        return lines.count == count
                    }
                    #expect(try Files.names(in: lost).count == count)
                    #expect(lines.allSatisfy { $0.contains("warning") && $0.contains("files=1") })
                    let found = try #require(try folder.report().lostAndFound)
                    #expect(found.files == count && found.path == lost)
                    let text = try Program.require(Apus.path, "status", folder.point)
                    #expect(text.contains(" without a place in \(lost)"), "\(text)")
                    try folder.unmount()
                }
                try folder.mount()
                for name in try Files.names(in: lost) { try Files.unlink("\(lost)/\(name)") }
                #expect(try folder.report().lostAndFound == nil)
            }
        }
    }
}
