import Glibc
import TestServer
import Testing

extension MountedTests {
    /// No directory is listed at intervals while these tests run: only reports show changes.
    @Suite
    struct `Changes that a folder reports` {
        private static let waiting: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.mount = ["--refresh", "1h"]
            return options
        }()

        private static func populate(_ remote: String) throws {
            try Files.makeDirectory("\(remote)/outer")
            try Files.makeDirectory("\(remote)/outer/inner")
            for name in ["changes", "goes", "mode", "moves"] {
                try Files.write([1], to: "\(remote)/outer/inner/\(name)")
            }
        }

        /// Has the kernel cache names, attributes, absences and listings.
        private static func fillCaches(_ folder: MountedFolder) throws {
            let inner = folder.local("outer/inner")
            for _ in 0..<2 {
                #expect(try Files.names(in: folder.local("outer")) == ["inner"])
                #expect(try Files.names(in: inner) == ["changes", "goes", "mode", "moves"])
                for name in try Files.names(in: inner) { _ = try Files.status("\(inner)/\(name)") }
                #expect(!Files.exists("\(inner)/comes"))
            }
            #expect(try Files.read("\(inner)/changes") == [1])
        }

        @Test(.timeLimit(.minutes(2)))
        func `show in names, attributes and content that the kernel caches`() throws {
            try MountedFolder.with(Self.waiting, populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                let (inner, remote) = (folder.local("outer/inner"), folder.remote("outer/inner"))
                try Files.write([2], to: "\(remote)/comes")
                try eventually("a new name is there") { Files.exists("\(inner)/comes") }
                try Files.unlink("\(remote)/goes")
                try eventually("a removed name is gone") { !Files.exists("\(inner)/goes") }
                try Files.rename("\(remote)/moves", to: "\(remote)/moved")
                try eventually("a renamed file has its new name") {
                    Files.exists("\(inner)/moved") && !Files.exists("\(inner)/moves")
                }
                try Files.setMode(0o600, of: "\(remote)/mode")
                try eventually("the mode is the new one") {
                    try Files.status("\(inner)/mode").st_mode & 0o777 == 0o600
                }
                try Files.write([3, 3], to: "\(remote)/changes")
                try eventually("the content is the new one") {
                    try Files.holds([3, 3], at: "\(inner)/changes")
                }
                #expect(try Files.names(in: inner) == ["changes", "comes", "mode", "moved"])
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `show in directories that were made here, and those that were moved here`() throws {
            try MountedFolder.with(Self.waiting, populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                try Files.makeDirectory(folder.local("made"))
                try Files.rename(folder.local("outer/inner"), to: folder.local("made/inner"))
                try folder.sync()
                for path in ["made/comes", "made/inner/comes"] {
                    try Files.write([2], to: folder.remote(path))
                    try eventually("\(path) is there") { Files.exists(folder.local(path)) }
                }
                try expectEqualTrees(folder)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["outer", "outer/inner"])
        func `follow a directory that was moved, and one in its place`(moved: String) throws {
            try MountedFolder.with(Self.waiting, populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                try Files.rename(folder.remote(moved), to: folder.remote("moved"))
                for directory in ["outer", "outer/inner"]
                where !Files.exists(folder.remote(directory)) {
                    try Files.makeDirectory(folder.remote(directory))
                }
                try Files.write([1], to: folder.remote("outer/inner/first"))
                try eventually("the new directory has the place of the old one") {
                    try Files.names(in: folder.local("outer/inner")) == ["first"]
                }
                let old = moved == "outer" ? "moved/inner" : "moved"
                try eventually("the old one has its new name") {
                    Files.exists(folder.local("\(old)/changes"))
                }
                for directory in ["outer/inner", old] {
                    try Files.write([1], to: folder.remote("\(directory)/second"))
                    try eventually("a change in \(directory) is seen") {
                        Files.exists(folder.local("\(directory)/second"))
                    }
                }
                try expectEqualTrees(folder)
            }
        }

        /// Method: the daemon stands still while more happens than the kernel keeps for it, and the last
        /// change comes after that.
        @Test(.timeLimit(.minutes(2)))
        func `are found although the kernel has lost reports`() throws {
            let kept = try OpenFile("/proc/sys/fs/inotify/max_queued_events", O_RDONLY).read(64)
            let limit = try #require(
                Int(String(decoding: kept, as: UTF8.self).filter { !$0.isWhitespace }))
            try MountedFolder.with(Self.waiting, populate: Self.populate) { folder in
                try Self.fillCaches(folder)
                let remote = folder.remote("outer/inner")
                let process = try #require(folder.daemon)
                kill(process, SIGSTOP)
                defer { kill(process, SIGCONT) }
                // The kernel merges events that are alike.
                for _ in 0...limit / 2 {
                    try Files.setMode(0o644, of: "\(remote)/changes")
                    try Files.setMode(0o644, of: "\(remote)/goes")
                }
                try Files.makeDirectory(folder.remote("outer/late"))
                try Files.write([1], to: "\(remote)/late")
                kill(process, SIGCONT)
                for name in ["outer/late", "outer/inner/late"] {
                    try eventually("\(name) is there") { Files.exists(folder.local(name)) }
                }
                try Files.write([1], to: "\(remote)/later")
                try eventually("later ones are seen too") {
                    Files.exists(folder.local("outer/inner/later"))
                }
                try expectEqualTrees(folder)
            }
        }
    }
}

extension MountedTests {
    /// Nextcloud and ownCloud, played by ``NextcloudServer``.
    @Suite
    struct `Changes that the etag of the root shows` {
        private static let directories = (0..<20).map { "photos/year \($0)" }

        @Test(.timeLimit(.minutes(2)))
        func `are seen, and no directory is listed while there are none`() async throws {
            let cloud = NextcloudServer()
            cloud.makeDirectory("photos")
            for directory in Self.directories {
                cloud.makeDirectory(directory)
                cloud.put([1], at: "\(directory)/old")
            }
            try await cloud.serve { server in
                var options = MountedFolder.Options()
                options.otherSource =
                    "webdav+http://127.0.0.1:\(server.port)/remote.php/dav/files/me"
                // Without a report they are listed after ten times that.
                options.mount = ["--refresh", "2s"]
                try MountedFolder.with(options) { folder in
                    for directory in Self.directories {
                        #expect(try Files.names(in: folder.local(directory)) == ["old"])
                    }
                    try eventually("only the root's etag is requested, for three intervals") {
                        let requests = server.requests
                        let last = requests.lastIndex { $0["Depth"] == "1" } ?? 0
                        let checks = requests[last...].count {
                            $0["Depth"] == "0" && $0.target == "/remote.php/dav/files/me/"
                        }
                        return checks >= 3
                    }

                    cloud.put([2], at: "photos/year 7/new")
                    try eventually("a new name is there") {
                        Files.exists(folder.local("photos/year 7/new"))
                    }
                    cloud.put([3, 3], at: "photos/year 8/old")
                    try eventually("the content is the new one") {
                        try Files.holds([3, 3], at: folder.local("photos/year 8/old"))
                    }
                    cloud.remove("photos/year 9")
                    try eventually("a removed directory is gone") {
                        !Files.exists(folder.local("photos/year 9"))
                    }
                    try Files.write([4], to: folder.local("photos/year 10/ours"))
                    try folder.sync()
                    #expect(cloud.bytes("photos/year 10/ours") == [4])
                }
            }
        }
    }
}
