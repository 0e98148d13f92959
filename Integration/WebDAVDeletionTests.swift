import Testing

extension MountedTests {
    @Suite(.timeLimit(.minutes(4)))
    struct `A directory that is removed on a WebDAV server` {
        /// Goal: DELETE is recursive, and takes nothing along that came after our last look (I4).
        ///
        /// Method: the request is held back, and another client puts a file into the directory. What
        /// the server takes of it then, it keeps.
        @Test(arguments: WebDAVServer.kinds)
        func `takes nothing along that others put into it at this moment`(
            kind: WebDAVServer.Kind
        ) async throws {
            try await WebDAVServer.with(kind) { server in
                try Relay.with(server.port) { relay in
                    var options = MountedFolder.Options()
                    options.otherSource = "webdav+http://127.0.0.1:\(relay.port)"
                    try MountedFolder.with(options) { folder in
                        try Files.makeDirectory(folder.local("d"))
                        try folder.sync()
                        relay.hold(.toServer, of: "DELETE")
                        try Files.removeDirectory(folder.local("d"))
                        #expect(relay.waitForHold(within: 60))
                        let status = try Program.require(
                            "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", "PUT",
                            "--data-binary", "theirs", "\(server.url)/d/theirs")
                        relay.release()
                        try folder.sync()
                        // Apache, which is asked for no locks, keeps the directory; others refuse
                        // the file.
                        try #require(status == (kind == .apache ? "201" : "423"))
                        guard kind == .apache else {
                            #expect(try server.names.isEmpty)
                            return
                        }
                        let theirs = Array("theirs".utf8)
                        #expect(try Files.holds(theirs, at: "\(server.folder)/d/theirs"))
                        try eventually("their file is here", within: .seconds(60)) {
                            try Files.holds(theirs, at: folder.local("d/theirs"))
                        }
                    }
                }
            }
        }
    }
}
