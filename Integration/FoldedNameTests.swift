import Testing

extension MountedTests {
    /// A server that ignores the case of names, as a person meets it who works on Linux.
    @Suite(.timeLimit(.minutes(2)))
    struct `A remote that folds names` {
        private func options(_ server: WebDAVServer, names: String = "") -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.otherSource = server.source + names
            return options
        }

        /// Goal: a second name costs the first one nothing, on either side, and can be sent as soon
        /// as it is renamed.
        @Test func `keeps the second of two names here, and loses neither`() async throws {
            try await WebDAVServer.with(.caselessRclone) { server in
                try Files.write([1, 2, 3], to: "\(server.folder)/Readme.txt")
                try MountedFolder.with(options(server)) { folder in
                    try Files.write([4, 5], to: folder.local("README.TXT"))
                    let sync = try Apus.run("sync", folder.point)
                    #expect(sync.status == 1)
                    let error = try #require(try folder.error(of: "README.TXT"))
                    #expect(error.contains("Readme.txt") && error.contains("rename"), "\(error)")
                    #expect(try Files.names(in: server.folder) == ["Readme.txt"])
                    #expect(try Files.read(folder.local("Readme.txt")) == [1, 2, 3])
                    try Files.rename(folder.local("README.TXT"), to: folder.local("other.txt"))
                    try folder.sync()
                    #expect(try Files.read("\(server.folder)/other.txt") == [4, 5])
                    #expect(try Files.read("\(server.folder)/Readme.txt") == [1, 2, 3])
                }
            }
        }

        /// Goal: a later look that finds nothing does not make two names of one object different ones.
        @Test func `is known to the next mount`() async throws {
            try await WebDAVServer.with(.caselessRclone) { server in
                try Files.write([1], to: "\(server.folder)/Readme.txt")
                try MountedFolder.with(options(server)) { folder in
                    try folder.unmount()
                    try Files.unlink("\(server.folder)/Readme.txt")
                    try folder.mount()
                    try Files.write([1, 2, 3], to: folder.local("a.txt"))
                    try folder.sync()
                    try Files.write([4, 5], to: folder.local("A.TXT"))
                    #expect(try Apus.run("sync", folder.point).status == 1)
                    #expect(try folder.error(of: "A.TXT")?.contains("a.txt") == true)
                    #expect(try Files.read("\(server.folder)/a.txt") == [1, 2, 3])
                }
            }
        }

        /// Method: what the look cannot find in an empty root is configured.
        @Test func `renames files and folders in case only`() async throws {
            try await WebDAVServer.with(.caselessRclone) { server in
                try MountedFolder.with(options(server, names: "?names=caseless")) { folder in
                    try Files.write([1], to: folder.local("a.txt"))
                    try Files.makeDirectory(folder.local("folder"))
                    try Files.write([2], to: folder.local("folder/b"))
                    try folder.sync()
                    try Files.rename(folder.local("a.txt"), to: folder.local("A.txt"))
                    try Files.rename(folder.local("folder"), to: folder.local("Folder"))
                    try folder.sync()
                    #expect(try Files.names(in: server.folder).sorted() == ["A.txt", "Folder"])
                    #expect(try Files.read("\(server.folder)/A.txt") == [1])
                    #expect(try Files.read("\(server.folder)/Folder/b") == [2])
                    // One of two names is removed: the other one has its object still.
                    try Files.write([3], to: folder.local("a.TXT"))
                    _ = try Apus.run("sync", folder.point)
                    try Files.unlink(folder.local("a.TXT"))
                    try folder.sync()
                    #expect(try Files.read("\(server.folder)/A.txt") == [1])
                    #expect(try Files.names(in: folder.point).sorted() == ["A.txt", "Folder"])
                }
            }
        }
    }
}
