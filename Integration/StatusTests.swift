import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `Status` {
        @Test(.timeLimit(.minutes(2)))
        func `as JSON tells what is pending and how far it is`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=2MiB"
            try MountedFolder.with(options) { folder in
                try Files.write(TestBytes.random(6 << 20, seed: 8), to: folder.local("new"))
                try eventually("uploading") { try folder.state(of: "new") == "uploading" }
                let status = try report(folder)
                #expect(status["mountPoint"] as? String == folder.point)
                #expect(status["stateDirectory"] as? String == folder.state)
                let counts = try #require(status["counts"] as? [String: Any])
                #expect(counts["pending"] as? Int == 1)
                let items = try #require(status["items"] as? [[String: Any]])
                let item = try #require(items.first)
                #expect(item["path"] as? String == "new")
                #expect(item["state"] as? String == "uploading")
                #expect(item["bytes"] as? Int == 6 << 20)
                #expect((0...100).contains(try #require(item["percent"] as? Int)))

                try folder.sync()
                let after = try report(folder)
                #expect((after["counts"] as? [String: Any])?["pending"] as? Int == 0)
                #expect((after["items"] as? [Any])?.isEmpty == true)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `names the bound of local copies, given or by default`() throws {
            try MountedFolder.with { folder in
                var space = statvfs()
                #expect(statvfs(folder.state, &space) == 0)
                let tenth = UInt64(space.f_blocks) * UInt64(space.f_frsize) / 10
                let bound = try #require(try report(folder)["cacheBytesMax"] as? UInt64)
                #expect((64 << 20...max(64 << 20, tenth)).contains(bound))
            }
            var options = MountedFolder.Options()
            options.mount = ["--cache-size", "64MiB"]
            try MountedFolder.with(options) { folder in
                let bound = try report(folder)["cacheBytesMax"] as? UInt64
                #expect(bound == 64 << 20)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `ends without a word where nobody reads it, and says so where there is no room`()
            throws
        {
            try MountedFolder.with { folder in
                let unread = """
                    import os, subprocess, sys
                    reader, writer = os.pipe()
                    os.close(reader)
                    sys.exit(subprocess.run(sys.argv[1:], stdout=writer).returncode)
                    """
                let silent = try Program.run(
                    "python3", "-c", unread, Apus.path, "status", folder.point)
                #expect(silent.status == 128 + SIGPIPE && silent.errors.isEmpty, "\(silent)")
                let full = try Program.run(
                    "sh", "-c", "\"$0\" status \"$1\" >/dev/full", Apus.path, folder.point)
                #expect(full.status == 1 && full.errors.contains("no space left"), "\(full)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `shows what is being fetched, and how much of it is here`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=512KiB"
            try MountedFolder.with(options) { remote in
                try Files.write(TestBytes.random(24 << 20, seed: 9), to: remote + "/film")
            } _: { folder in
                // Reading its first byte has the first MiB fetched, which takes two seconds.
                let file = try #require(FileHandle(forReadingAtPath: folder.local("film")))
                defer { try? file.close() }
                #expect(try file.read(upToCount: 1)?.count == 1)
                let status = try report(folder)
                let counts = try #require(status["counts"] as? [String: Any])
                #expect(counts["downloading"] as? Int == 1)
                #expect(try #require(counts["localBytes"] as? Int) > 0)
                let items = try #require(status["items"] as? [[String: Any]])
                let item = try #require(items.first)
                #expect(item["path"] as? String == "film")
                #expect(item["operation"] as? String == "download")
                #expect(item["bytes"] as? Int == 24 << 20)
                #expect((1..<(24 << 20)).contains(try #require(item["bytesHere"] as? Int)))
                let text = try Program.require(Apus.path, "status", folder.point)
                #expect(text.contains("downloading "), "\(text)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `of one file names its state`() throws {
            try MountedFolder.with { remote in
                try Files.write([1, 2, 3], to: remote + "/file")
            } _: { folder in
                let output = try Program.require(Apus.path, "status", folder.local("file"))
                #expect(output.contains("file"))
                #expect(output.contains("remote"))
                let missing = try Apus.run("status", folder.local("none"))
                #expect(missing.status == 1, "\(missing)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `says that all of a file that stays open is on the remote, with its attributes`()
            throws
        {
            try MountedFolder.with { folder in
                let file = try OpenFile(folder.local("open"), O_RDWR | O_CREAT)
                try file.write([1, 2, 3])
                try Files.setMode(0o600, of: folder.local("open"))
                let sync = try Apus.run("sync", folder.point)
                #expect(sync.status == 0, "\(sync)")
                #expect(
                    sync.output.contains(
                        ": Every change is on the remote; 1 file is still open for writing"),
                    "\(sync)")
                #expect(try Files.read(folder.remote("open")) == [1, 2, 3])
                #expect(try Files.status(folder.remote("open")).st_mode & 0o777 == 0o600)
                let status = try Program.require(Apus.path, "status", folder.point)
                #expect(
                    status.contains(
                        "  open  (open for writing, all of it so far is on the remote, for "),
                    "\(status)")
                #expect(
                    status.contains(
                        "\nEvery change is on the remote; 1 file is still open for writing.\n"),
                    "\(status)")
                try file.close()
                #expect(
                    try Program.require(Apus.path, "sync", folder.point)
                        .contains("Everything is on the remote"))
            }
        }

        /// Goal: the text stays readable, however much there is; everything is there for `--all` and
        /// programs.
        @Test(.timeLimit(.minutes(2)))
        func `lists 20 items, and all of them for --all and --json`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=1KiB"
            let long = (0..<4).map { _ in String(repeating: "long", count: 50) }
                .joined(separator: "/")
            try MountedFolder.with(options) { folder in
                try Program.require("mkdir", "-p", folder.local(long))
                try folder.sync()
                for number in 0..<1_200 {
                    try Files.write(
                        [UInt8](repeating: 1, count: 4_096),
                        to: folder.local("\(long)/\(number).jpg"))
                }
                let text = try Apus.run(["status", folder.point], environment: ["COLUMNS": "90"])
                let lines = text.output.split(separator: "\n")
                #expect(text.status == 0 && (20...25).contains(lines.count), "\(text)")
                #expect(lines.allSatisfy { $0.count <= 90 }, "\(text)")
                #expect(lines.dropFirst(2).first?.contains("not yet on the remote") == true)
                #expect(lines.contains { $0.contains("  longlong") && $0.contains(".jpg") })
                #expect(text.output.contains("more; `apus status --all` lists them"), "\(text)")

                let report = try folder.report()
                #expect(report.counts.pending > 1_000)
                #expect(report.items.count == report.counts.pending)
                let all = try Program.require(Apus.path, "status", "--all", folder.point)
                #expect(all.split(separator: "\n").count > 1_000)
                #expect(all.contains("\(long)/1199.jpg"))
                try folder.unmount(now: true)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `calls pending deletions so, and counts conflicts`() throws {
            var options = MountedFolder.Options()
            options.source = "latency=1s"
            options.mount = ["--refresh", "1s"]
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory(remote + "/dir")
                for number in 0..<40 {
                    try Files.write([1, 2, 3], to: "\(remote)/dir/\(number).jpg")
                }
                try Files.write([1], to: remote + "/plan")
            } _: { folder in
                _ = try Files.names(in: folder.local("dir"))
                try Program.require("rm", "-rf", folder.local("dir"))
                let report = try folder.report()
                #expect(report.counts.deletions == 41 && report.counts.pending == 41)
                #expect(report.items.count == 41)
                #expect(report.items.allSatisfy { $0.operation == "delete" })
                let text = try Program.require(Apus.path, "status", folder.point)
                #expect(text.contains("\n41 deletions not yet on the remote.\n"), "\(text)")
                #expect(text.contains("  deletion  ") && !text.contains("dirty"), "\(text)")
                try folder.sync()

                let file = try OpenFile(folder.local("plan"), O_WRONLY)
                try file.write([2])
                try Files.write([3, 3], to: folder.remote("plan"))
                try file.close()
                try folder.sync()
                try eventually("the conflict is counted") {
                    try folder.report().counts.conflicts == 1
                }
                let plan = folder.local("plan")
                let json = try Program.require(
                    Apus.path, "status", "--json", plan, folder.point, plan)
                let reports = try JSONDecoder().decode([MountReport].self, from: Data(json.utf8))
                let twice = try #require(reports.first)
                #expect(twice.counts.conflicts == 1)
                #expect(twice.items.filter { $0.path == "plan" }.count == 1)
                let after = try Program.require(Apus.path, "status", folder.point)
                #expect(
                    after.contains("\nEverything is on the remote, 1 conflict.\n"), "\(after)")
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/curl"), "takes curl"))
        func `is open to other programs of the same user, as HTTP on a Unix socket`() throws {
            try MountedFolder.with { folder in
                let socket = folder.state + "/control.sock"
                let status = try Files.status(socket)
                #expect(status.st_mode & S_IFMT == S_IFSOCK)
                #expect(status.st_mode & 0o777 == 0o600)
                let answer = try Program.require(
                    "curl", "--silent", "--fail", "--unix-socket", socket,
                    "http://apus/v1/about")
                let about = try JSONSerialization.jsonObject(with: Data(answer.utf8))
                let fields = try #require(about as? [String: Any])
                #expect(fields["mountPoint"] as? String == folder.point)
                #expect(fields["pid"] as? Int == folder.daemon.map(Int.init))
            }
        }

        private func report(_ folder: MountedFolder) throws -> [String: Any] {
            let output = try Program.require(Apus.path, "status", folder.point, "--json")
            let value = try JSONSerialization.jsonObject(with: Data(output.utf8))
            let reports = try #require(value as? [[String: Any]], "\(output)")
            return try #require(reports.first, "one report for each mount")
        }
    }
}
