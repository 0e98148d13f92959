import Foundation
import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `Filters over a mount` {
        /// The project's scripts, which generate photos and check sepia without Apus.
        private static let scripts = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "scripts").path(percentEncoded: false)

        @Test(.timeLimit(.minutes(3)))
        func `sepia reaches the remote and reads back equal after eviction`() throws {
            try MountedFolder.with { remote in
                try Program.require(Self.scripts + "/make-photos", remote + "/Photos", "6")
                try Files.write(Array("no image".utf8), to: remote + "/Photos/notes.txt")
            } _: { folder in
                let original = "\(folder.base)/original"
                try Program.require("cp", "-a", folder.remote("Photos"), original)

                try Program.require(Apus.path, "apply", "sepia", folder.local("Photos"))
                try folder.sync()
                let check = try Program.run(
                    Self.scripts + "/check-sepia", original, folder.remote("Photos"))
                #expect(check.status == 0, "\(check)")
                #expect(check.output.contains("ok     thumbnail of made-001.jpg"), "\(check)")
                #expect(
                    try Files.names(in: folder.remote("Photos")) == Files.names(in: original))

                try folder.evict("Photos")
                #expect(try folder.state(of: "Photos/made-001.jpg") == "remote")
                try expectEqualTrees(folder)
            }
        }

        /// Goal: a mount is not charged with the memory and the start of libraries that it never calls.
        @Test(.timeLimit(.minutes(2)))
        func `a daemon has loaded no image decoder`() throws {
            try MountedFolder.with { _ in
            } _: { folder in
                let daemon = try #require(folder.daemon)
                let maps = try Program.require("cat", "/proc/\(daemon)/maps")
                #expect(maps.contains("libfuse3"))
                #expect(!maps.contains("libvips"))
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `a damaged image is named, stays unchanged, and makes the exit status 1`() throws {
            try MountedFolder.with { remote in
                try Program.require(Self.scripts + "/make-photos", remote, "2")
                let whole = try Files.read(remote + "/made-001.jpg")
                try Files.write(Array(whole.prefix(whole.count / 2)), to: remote + "/damaged.jpg")
            } _: { folder in
                let before = try Files.read(folder.remote("damaged.jpg"))
                let intact = try Files.read(folder.remote("made-002.jpg"))
                let result = try Apus.run("apply", "sepia", folder.point)
                #expect(result.status == 1, "\(result)")
                #expect((result.output + result.errors).contains("damaged.jpg"))
                try folder.sync()
                #expect(try Files.read(folder.remote("damaged.jpg")) == before)
                #expect(try Files.read(folder.remote("made-002.jpg")) != intact)
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `interrupted leaves whole images and no temporary`() throws {
            try MountedFolder.with { remote in
                try Program.require(Self.scripts + "/make-photos", remote, "8")
            } _: { folder in
                let names = try Files.names(in: folder.remote)
                let first = try Files.read(folder.remote(names[0]))
                let apply = try Apus.start(["apply", "sepia", folder.point])
                try eventually("the first image is done", within: .seconds(60)) {
                    try !apply.isRunning || Files.read(folder.local(names[0])) != first
                }
                apply.signal(SIGINT)
                let result = try apply.wait()
                #expect(result.status != 0, "\(result)")
                #expect(try Files.names(in: folder.point) == names)
                for name in names {
                    try Program.require("vips", "avg", folder.local(name) + "[fail_on=error]")
                }
                try folder.sync()
                try expectEqualTrees(folder)
            }
        }
    }
}

@Suite
struct `Filters without a mount` {
    /// Goal: no run ends with a signal, although worker threads may end before libvips is started.
    ///
    /// Method: fewer images than threads; many runs with a single image, since only some crashed.
    @Test(.timeLimit(.minutes(2)))
    func `a run with few or no images ends normally`() throws {
        let base = try Files.makeTemporaryDirectory("f")
        defer { _ = try? Program.run("rm", "-r", base) }
        try Files.makeDirectory(base + "/empty")
        try Files.makeDirectory(base + "/text")
        try Files.write(Array("text".utf8), to: base + "/text/notes.txt")
        try Program.require("vips", "black", base + "/one.png", "16", "16", "--bands", "3")

        #expect(try Apus.run("apply", "sepia", base + "/empty").status == 0)
        #expect(try Apus.run("apply", "sepia", base + "/text").status == 0)
        #expect(try Apus.run("apply", "sepia", base + "/missing").status == 1)
        for _ in 0..<20 {
            let result = try Apus.run("apply", "sepia", base + "/one.png")
            #expect(result.status == 0, "\(result)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a picture over a bound is in the JSON with its remedy, and makes the exit status 1`()
        throws
    {
        let base = try Files.makeTemporaryDirectory("f")
        defer { _ = try? Program.run("rm", "-r", base) }
        try Program.require("vips", "black", base + "/large.png", "16", "16", "--bands", "3")
        try Program.require("vips", "black", base + "/small.png", "8", "8", "--bands", "3")

        let result = try Apus.run("apply", "sepia", "--max-pixels", "100", "--json", base)
        #expect(result.status == 1, "\(result)")
        #expect(result.output.contains(#""filesChanged":1"#), "\(result)")
        #expect(result.output.contains(#""filesFailed":1"#), "\(result)")
        #expect(result.output.contains("large.png"), "\(result)")
        #expect(result.output.contains("allow more with --max-pixels"), "\(result)")
    }
}
