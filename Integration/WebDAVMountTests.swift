import Glibc
import Testing

extension MountedTests {
    @Suite(.timeLimit(.minutes(2)))
    struct `A WebDAV server` {
        private func options(_ server: WebDAVServer) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.otherSource = server.source
            options.mount = ["--refresh", "1s"]
            return options
        }

        @Test func `is mounted, and both sides see each other's changes`() async throws {
            let large = SeededRandom.bytes(3_000_000, seed: 1)
            try await WebDAVServer.with(.apache) { server in
                try MountedFolder.with(options(server)) { folder in
                    try Files.makeDirectory(folder.local("directory"))
                    try Files.write(large, to: folder.local("directory/large file"))
                    try Files.write([1, 2, 3], to: folder.local("small"))
                    try Files.setMode(0o640, of: folder.local("small"))
                    try Files.link("directory/large file", at: folder.local("link"))
                    try Files.rename(folder.local("small"), to: folder.local("renamed"))
                    try folder.unmount()
                    #expect(try Files.read("\(server.folder)/directory/large file") == large)
                    #expect(try Files.read("\(server.folder)/renamed") == [1, 2, 3])

                    // Somebody else changes it, on the server itself.
                    try Files.write(Array("of others".utf8), to: "\(server.folder)/new")
                    try Files.replace("\(server.folder)/renamed", with: [4, 5, 6])
                    try folder.mount()
                    try eventually("the changes show") {
                        try Files.holds([4, 5, 6], at: folder.local("renamed"))
                    }
                    #expect(try Files.read(folder.local("new")) == Array("of others".utf8))
                    #expect(try Files.read(folder.local("directory/large file")) == large)
                    #expect(try Files.linkTarget(folder.local("link")) == "directory/large file")

                    try Files.write([7], to: folder.local("new"))
                    try Files.unlink(folder.local("renamed"))
                    try folder.sync()
                    #expect(try Files.read("\(server.folder)/new") == [7])
                    let names = try Files.names(in: server.folder).filter { $0 != ".DAV" }
                    #expect(names == ["directory", "link", "new"])
                }
            }
        }

        @Test func `keeps modes, times and links for a mount that knows nothing of them`()
            async throws
        {
            try await WebDAVServer.with(.apache) { server in
                try MountedFolder.with(options(server)) { folder in
                    try Files.write([1], to: folder.local("file"))
                    try Files.setMode(0o751, of: folder.local("file"))
                    try Files.setModified(
                        seconds: 1_234_567_890, nanoseconds: 123_456_789, of: folder.local("file"))
                    try Files.link("nowhere", at: folder.local("link"))
                    try folder.unmount()
                }
                try MountedFolder.with(options(server)) { folder in
                    let status = try Files.status(folder.local("file"))
                    #expect(status.st_mode & 0o7777 == 0o751)
                    #expect(status.st_mtim.tv_sec == 1_234_567_890)
                    #expect(status.st_mtim.tv_nsec == 123_456_789)
                    #expect(try Files.linkTarget(folder.local("link")) == "nowhere")
                }
            }
        }
    }
}
