import Glibc
import Testing

extension MountedTests {
    /// Files and directories beside the mount are the outside: in reach of links, and harmless.
    @Suite
    struct `Links out of the mount` {
        @Test(.timeLimit(.minutes(2)))
        func `those of the remote's are shown and not followed`() throws {
            try MountedFolder.with(populate: populate) { folder in
                try Files.write(Array("secret".utf8), to: "\(folder.base)/secret")
                for (name, target) in Self.outside {
                    let link = folder.local(name)
                    #expect(try Files.linkTarget(link) == target, "\(name)")
                    try expectDenied("list \(name)") { _ = try OpenDirectory(link) }
                    #expect(access(link, F_OK) == -1 && errno == EACCES, "\(name)")
                    try expectDenied("open \(name)") { _ = try OpenFile(link, O_RDONLY) }
                    try expectDenied("make \(name)") {
                        _ = try OpenFile(link, O_WRONLY | O_CREAT)
                    }
                }
                try expectDenied("through a link") {
                    _ = try OpenFile(folder.local("root/etc/passwd"), O_RDONLY)
                }
                // Once more: nothing that was shown is remembered for those who follow.
                #expect(try Files.linkTarget(folder.local("passwd")) == "/etc/passwd")
                try expectDenied("open after a look") {
                    _ = try OpenFile(folder.local("passwd"), O_RDONLY)
                }
                let listing = try Program.require("ls", "-l", folder.local("passwd"))
                #expect(listing.contains("passwd -> /etc/passwd"))
                let status = try Apus.run("status", folder.local("passwd"))
                #expect(status.output.contains("-> /etc/passwd (outside"), "\(status)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `those that stay inside are followed`() throws {
            try MountedFolder.with(populate: populate) { folder in
                for name in ["deep/er/up", "deep/beside", "whole/deep/file"] {
                    let bytes = try Files.read(folder.local(name))
                    #expect(bytes == Array("inside".utf8), "\(name)")
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a link that climbs is judged by where it lies now`() throws {
            try MountedFolder.with(populate: populate) { folder in
                #expect(try Files.read(folder.local("deep/er/up")) == Array("inside".utf8))
                try Files.write(Array("secret".utf8), to: "\(folder.base)/file")
                try Files.rename(folder.local("deep/er"), to: folder.local("er"))
                try expectDenied("after its directory moved up") {
                    _ = try OpenFile(folder.local("er/up"), O_RDONLY)
                }
                #expect(try Files.linkTarget(folder.local("er/up")) == "../../file")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `what programs make here is theirs to follow, after a remount too`() throws {
            try MountedFolder.with { folder in
                try Files.write(Array("mine".utf8), to: "\(folder.base)/beside")
                try Files.link("../beside", at: folder.local("climbing"))
                try Files.link("\(folder.base)/beside", at: folder.local("absolute"))
                for _ in 1...2 {
                    #expect(try Files.read(folder.local("climbing")) == Array("mine".utf8))
                    #expect(try Files.read(folder.local("absolute")) == Array("mine".utf8))
                    try folder.unmount()
                    try folder.mount()
                }
                #expect(try Files.linkTarget(folder.remote("climbing")) == "../beside")
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [["cp", "-a"], ["rsync", "-a"]])
        func `copies have the links as they are, here and on the remote`(
            copy: [String]
        ) throws {
            try MountedFolder.with(populate: populate) { folder in
                let outside = "\(folder.base)/backup"
                for place in [outside, folder.local("copy")] {
                    let names = Self.outside.keys.sorted().map { folder.local($0) }
                    try Files.makeDirectory(place)
                    try Program.start(copy + names + [place]).wait().expectSuccess()
                }
                try folder.sync()
                for (name, target) in Self.outside {
                    #expect(try Files.linkTarget("\(outside)/\(name)") == target)
                    #expect(try Files.linkTarget(folder.remote("copy/\(name)")) == target)
                    #expect(try Files.linkTarget(folder.remote(name)) == target)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `all are followed where the user says so`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--no-contain-symlinks"]
            try MountedFolder.with(options, populate: populate) { folder in
                try Files.write(Array("beside".utf8), to: "\(folder.base)/secret")
                #expect(try Files.read(folder.local("climbing")) == Array("beside".utf8))
                #expect(
                    try Files.read(folder.local("passwd")) == Files.read("/etc/passwd"))
            }
        }

        /// Links at the top that lead out, and where they point.
        private static let outside = [
            "passwd": "/etc/passwd", "root": "/", "climbing": "../secret",
            "far": "../../../../../../../../etc", "crooked": "deep/../../secret",
        ]

        private func populate(_ remote: String) throws {
            for (name, target) in Self.outside {
                try Files.link(target, at: "\(remote)/\(name)")
            }
            try Files.makeDirectory("\(remote)/deep")
            try Files.makeDirectory("\(remote)/deep/er")
            try Files.write(Array("inside".utf8), to: "\(remote)/file")
            try Files.write(Array("inside".utf8), to: "\(remote)/deep/file")
            try Files.link("../../file", at: "\(remote)/deep/er/up")
            try Files.link("file", at: "\(remote)/deep/beside")
            // Absolute, to the mount point itself.
            let base = remote.split(separator: "/").dropLast().joined(separator: "/")
            try Files.link("/\(base)/mount", at: "\(remote)/whole")
        }

        private func expectDenied(_ what: String, _ body: () throws -> Void) throws {
            let error = try #require(throws: CallError.self, "\(what)") { try body() }
            #expect(error.code == EACCES, "\(what)")
        }
    }
}
