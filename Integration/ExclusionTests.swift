import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    /// Names that `--exclude` neither shows nor sends, with real programs.
    @Suite
    struct `Excluded names` {
        private static func options(_ patterns: String...) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"] + patterns.map { "--exclude=\($0)" }
            return options
        }

        /// The names on the remote, at any depth, in order.
        private static func tree(_ folder: String) throws -> [String] {
            let output = try Program.require("find", folder, "-mindepth", "1", "-printf", "%P\\n")
            // Apache keeps properties there.
            return output.split(separator: "\n").map(String.init)
                .filter { !$0.split(separator: "/").contains(".DAV") }.sorted()
        }

        /// Goal: such files can be used as any other, and never reach the remote.
        private static func useFiles(_ folder: MountedFolder, onRemote: String) throws {
            #expect(try Files.names(in: folder.point).sorted() == ["Letters", "kept"])
            #expect(!Files.exists(folder.local("Letters/.DS_Store")))
            try Files.write([1], to: folder.local("Letters/.DS_Store"))
            try Files.write([2, 2], to: folder.local("Letters/~$a.docx"))
            try Program.require("cp", "-r", "/etc/default", folder.local("node_modules"))
            // Word saves like this: a new file under a temporary name takes the place of the old one.
            try Files.write([3, 3, 3], to: folder.local("Letters/~$new.tmp"))
            try Files.rename(
                folder.local("Letters/~$new.tmp"), to: folder.local("Letters/a.docx"))
            try folder.sync()
            #expect(
                try tree(onRemote) == [
                    "Letters", "Letters/.DS_Store", "Letters/a.docx", "kept", "node_modules",
                    "node_modules/old",
                ])
            #expect(try Files.read("\(onRemote)/Letters/a.docx") == [3, 3, 3])
            #expect(try Files.read("\(onRemote)/Letters/.DS_Store") == [9])
            #expect(try Files.read(folder.local("Letters/.DS_Store")) == [1])
            #expect(try folder.state(of: "Letters/.DS_Store") == "excluded")
            let list = try Program.require(Apus.path, "ls", folder.local("Letters"))
            #expect(list.contains("excluded         ~$a.docx"), "\(list)")
            #expect(list.contains("local            a.docx"), "\(list)")
            let status = try Program.require(
                Apus.path, "status", "--json", folder.local("Letters/.DS_Store"))
            #expect(status.contains(#""state" : "excluded""#), "\(status)")
            try Apus.expectRefusal(
                "evict", folder.local("Letters/.DS_Store"), naming: "exists only here")
        }

        private static func populate(_ remote: String) throws {
            for name in ["Letters", "node_modules"] { try Files.makeDirectory("\(remote)/\(name)") }
            try Files.write([9], to: "\(remote)/Letters/.DS_Store")
            try Files.write([8], to: "\(remote)/Letters/a.docx")
            try Files.write([7], to: "\(remote)/node_modules/old")
            try Files.write([6], to: "\(remote)/kept")
        }

        @Test(.timeLimit(.minutes(3)))
        func `are used here and never sent to a folder`() throws {
            let options = Self.options(".DS_Store", "~$*", "node_modules/")
            try MountedFolder.with(options, populate: Self.populate) { folder in
                try Self.useFiles(folder, onRemote: folder.remote)
                let here = try Self.tree(folder.local("node_modules"))
                #expect(!here.isEmpty && !here.contains("old"))

                // They survive the mount, whose end says that they are only here.
                let end = try Program.require(Apus.path, "unmount", folder.point)
                #expect(end.contains("excluded items are only here"), "\(end)")
                try Apus.expectRefusal(
                    "forget", folder.state, naming: "that --exclude keeps only here", "--discard")
                try folder.mount()
                #expect(try Self.tree(folder.local("node_modules")) == here)
                #expect(try Files.read(folder.local("Letters/~$a.docx")) == [2, 2])
                #expect(
                    try Program.require(Apus.path, "status", folder.point)
                        .contains("excluded items are only here"))
                try folder.unmount()
                try Program.require(Apus.path, "check", "--dry-run", folder.state)
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `are not excluded by a mount that fails`() throws {
            try MountedFolder.with(Self.options(), populate: Self.populate) { folder in
                let names = try Files.names(in: folder.point)
                #expect(names.contains("kept"))
                try folder.unmount()
                try Files.rename(folder.remote, to: "\(folder.base)/away")
                try Files.write([1], to: folder.remote)
                try Apus.expectRefusal(
                    "mount", folder.source, folder.point, "--state-dir", folder.state,
                    "--exclude", "kept", naming: "not a directory")
                try Files.unlink(folder.remote)
                try Files.rename("\(folder.base)/away", to: folder.remote)
                try folder.mount()
                #expect(try Files.names(in: folder.point) == names)
                #expect(try folder.state(of: "kept") != "excluded")
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `are used here and never sent by WebDAV`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try Self.populate(server.folder)
                // The server runs as another user.
                try Program.require("chmod", "-R", "a+rwX", server.folder)
                var options = Self.options(".DS_Store", "~$*", "node_modules/")
                options.otherSource = server.source
                try MountedFolder.with(options) { folder in
                    try Self.useFiles(folder, onRemote: server.folder)
                }
            }
        }

        /// Goal: `rm -r` does not take along what it cannot see, also where DELETE is recursive.
        @Test(.timeLimit(.minutes(3)))
        func `on the remote survive the removal of their folder`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try Self.populate(server.folder)
                // The server runs as another user.
                try Program.require("chmod", "-R", "a+rwX", server.folder)
                var options = Self.options(".DS_Store")
                options.otherSource = server.source
                try MountedFolder.with(options) { folder in
                    try Program.require("rm", "-r", folder.local("Letters"))
                    try Program.require("rm", "-r", folder.local("node_modules"))
                    try folder.sync()
                    #expect(
                        try Self.tree(server.folder) == ["Letters", "Letters/.DS_Store", "kept"])
                    // The folder comes back, as there still is one.
                    #expect(try Files.names(in: folder.local("Letters")) == [])
                }
            }
        }

        /// Goal: `mv` to an excluded name keeps the bytes here before the remote loses them.
        @Test(.timeLimit(.minutes(3)))
        func `are moved to by copying, as to another file system`() throws {
            let bytes = TestBytes.random(3 << 20, seed: 3)
            try MountedFolder.with(Self.options("*.bak")) { remote in
                try Files.write(bytes, to: "\(remote)/a")
                try Files.makeDirectory("\(remote)/d")
                try Files.write([1], to: "\(remote)/d/x")
            } _: { folder in
                let error = #expect(throws: CallError.self) {
                    try Files.rename(folder.local("a"), to: folder.local("a.bak"))
                }
                #expect(error?.code == EXDEV)
                try Program.require("mv", folder.local("a"), folder.local("a.bak"))
                try Program.require("mv", folder.local("d"), folder.local("d.bak"))
                try folder.sync()
                try eventually("the remote has lost both", within: .seconds(30)) {
                    try Self.tree(folder.remote).isEmpty
                }
                #expect(try Files.read(folder.local("a.bak")) == bytes)
                #expect(try Files.read(folder.local("d.bak/x")) == [1])
                // And back.
                try Files.rename(folder.local("d.bak"), to: folder.local("e"))
                try folder.sync()
                #expect(try Self.tree(folder.remote) == ["e", "e/x"])
            }
        }

        /// Goal: other patterns at the next mount neither delete nor lose anything.
        @Test(.timeLimit(.minutes(3)))
        func `may change from mount to mount`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1s"]
            let plain = try MountedFolder(options)
            defer { plain.remove() }
            try Self.populate(plain.remote)
            func mount(_ patterns: String...) throws {
                let words = patterns.map { "--exclude=\($0)" }
                let result = try Apus.run(
                    ["mount", plain.source, plain.point, "--state-dir", plain.state] + words)
                #expect(result.status == 0, "\(result)")
            }
            try mount()
            #expect(try Files.read(plain.local("Letters/a.docx")) == [8])
            #expect(try Files.read(plain.local("kept")) == [6])
            try plain.unmount()

            try mount("*.docx", "kept")
            try eventually("they are hidden") {
                try !Files.exists(plain.local("kept"))
                    && Files.names(in: plain.local("Letters")) == [".DS_Store"]
            }
            try Files.write([5], to: plain.local("b.docx"))
            try plain.unmount()
            #expect(
                try Self.tree(plain.remote) == [
                    "Letters", "Letters/.DS_Store", "Letters/a.docx", "kept", "node_modules",
                    "node_modules/old",
                ])

            try mount()
            try eventually("they are shown") {
                Files.exists(plain.local("kept")) && Files.exists(plain.local("Letters/a.docx"))
            }
            #expect(try Files.read(plain.local("Letters/a.docx")) == [8])
            try plain.sync()
            #expect(try Files.read(plain.remote("b.docx")) == [5])
            try plain.unmount()
        }

        @Test(.timeLimit(.minutes(1)))
        func `are refused if they have no meaning`() throws {
            let result = try Apus.run(
                "mount", "folder:/tmp", "/tmp", "--exclude", "!keep", "--foreground")
            #expect(result.status == 2, "\(result)")
            #expect(result.errors.contains("not supported"), "\(result)")
        }
    }
}
