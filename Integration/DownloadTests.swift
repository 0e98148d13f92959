import Glibc
import TestBytes
import Testing

extension MountedTests {
    /// Goal: readers of files on a server get their bytes early, and no more than they need.
    ///
    /// Method: a relay counts the bytes that the server sends, and holds them back.
    @Suite(.timeLimit(.minutes(4)))
    struct `Downloads from a server` {
        private static let size = 64 << 20
        private static let bytes = TestBytes.random(size, seed: 61)
        /// Listings, headers, and the first MiB of a file, of which an open waits for a part.
        private static let overhead = 2 << 20

        /// Mounts a server that has `movie`, through a relay.
        private static func with(
            s3: Bool = false,
            _ body: (MountedFolder, Relay, _ replace: ([UInt8]) throws -> Void) throws -> Void
        ) async throws {
            var options = MountedFolder.Options()
            guard s3 else {
                return try await WebDAVServer.with(.apache) { server in
                    let place = "\(server.folder)/movie"
                    try Files.write(bytes, to: place)
                    try Relay.with(server.port) { relay in
                        options.otherSource = "webdav+http://127.0.0.1:\(relay.port)"
                        try MountedFolder.with(options) { folder in
                            try body(folder, relay) { other in
                                try Files.write(other, to: "\(place).new")
                                try Files.rename("\(place).new", to: place)
                            }
                        }
                    }
                }
            }
            try await ObjectStore.with(.seaweedFS) { store in
                let file = "\(store.base)/movie"
                func replace(_ other: [UInt8]) throws {
                    try Files.write(other, to: file)
                    try store.python("s3.upload_file(arguments[0], bucket, 'p/movie')", file)
                }
                try replace(bytes)
                try Relay.with(store.port) { relay in
                    options.otherSource = store.source("p", port: relay.port)
                    options.environment = store.environment
                    try MountedFolder.with(options) { folder in
                        try body(folder, relay, replace)
                    }
                }
            }
        }

        @Test(arguments: [false, true])
        func `that is read here and there sends 128 KiB for each read`(s3: Bool) async throws {
            try await Self.with(s3: s3) { folder, relay, _ in
                let file = try OpenFile(folder.local("movie"), O_RDONLY)
                let before = relay.count(.fromServer)
                for index in 0..<30 {
                    let offset = ((index * 7_919 + 401) % 1_000) << 16
                    let part = try file.read(4_096, at: offset)
                    #expect(part == Array(Self.bytes[offset..<offset + 4_096]))
                }
                let sent = relay.count(.fromServer) - before
                print("30 random reads: \(sent) bytes")
                #expect(sent <= 30 * (128 << 10) + Self.overhead)
            }
        }

        /// Apache confirms versions only at the end of a range.
        @Test func `answers a read before the range with its bytes has arrived`() async throws {
            try await Self.with(s3: true) { folder, relay, _ in
                _ = try Files.status(folder.local("movie"))
                // The first range is 1 MiB.
                relay.hold(.fromServer, after: 300 << 10)
                let file = try OpenFile(folder.local("movie"), O_RDONLY)
                #expect(try file.read(4_096) == Array(Self.bytes[..<4_096]))
                #expect(relay.waitForHold())
                #expect(relay.count(.fromServer) < 1 << 20)
                relay.release()
                #expect(try file.readAll() == Self.bytes)
            }
        }

        /// Goal: no mix of two versions (I5).
        @Test(arguments: [false, true])
        func `whose file is replaced in the middle shows one version only`(
            s3: Bool
        ) async throws {
            let other = Self.bytes.map { ~$0 }
            try await Self.with(s3: s3) { folder, relay, replace in
                let file = try OpenFile(folder.local("movie"), O_RDONLY)
                relay.hold(.fromServer, after: 5 << 20)
                #expect(try file.read(1 << 20) == Array(Self.bytes[..<(1 << 20)]))
                // Several ranges are under way.
                #expect(relay.waitForHold())
                try replace(other)
                relay.release()
                var offset = 1 << 20
                while offset < Self.size, let part = try? file.read(128 << 10, at: offset) {
                    #expect(part == Array(Self.bytes[offset..<offset + part.count]))
                    offset += part.count
                }
                print("\(offset) bytes of the first version")
                try file.close()
                try eventually("the content is the new one") {
                    try Files.holds(other, at: folder.local("movie"))
                }
            }
        }
    }
}
