import Testing

extension MountedTests {
    /// The requests that changes cost: each is a round trip, and stores charge for it.
    @Suite(.timeLimit(.minutes(4)))
    struct `Requests to a server` {
        private static let count = 60

        /// Makes files and removes them, and returns the requests of each by method.
        private func requests(
            _ options: MountedFolder.Options, _ relay: Relay
        ) throws -> (made: [String: Int], removed: [String: Int]) {
            var steps: [[String: Int]] = []
            try MountedFolder.with(options) { folder in
                try Files.makeDirectory(folder.local("d"))
                // The store is tested before its first change.
                try Files.write([1], to: folder.local("first"))
                try folder.sync()
                steps.append(relay.requests)
                for number in 0..<Self.count {
                    try Files.write(
                        [UInt8](repeating: 7, count: 10 << 10), to: folder.local("d/\(number)"))
                }
                try folder.sync()
                steps.append(relay.requests)
                for number in 0..<Self.count { try Files.unlink(folder.local("d/\(number)")) }
                try folder.sync()
                steps.append(relay.requests)
            }
            return (
                steps[1].merging(steps[0]) { $0 - $1 }, steps[2].merging(steps[1]) { $0 - $1 }
            )
        }

        @Test func `a new file costs one request of a store for S3, and a deleted one another`()
            async throws
        {
            try await ObjectStore.with(.seaweedFS) { store in
                try Relay.with(store.port) { relay in
                    var options = MountedFolder.Options()
                    options.environment = store.environment
                    options.otherSource = store.source("p", port: relay.port)
                    let (made, removed) = try requests(options, relay)
                    #expect(made["PUT"] == Self.count)
                    #expect(made["HEAD", default: 0] == 0)
                    #expect(removed["DELETE"] == Self.count)
                    #expect(removed["HEAD", default: 0] == 0)
                    // Each listing serves all files of two seconds; the refresh lists, too.
                    for requests in [made, removed] {
                        #expect(requests["GET", default: 0] < Self.count / 4)
                    }
                }
            }
        }

        /// Goal: a program that opens a small file by its path waits for one request.
        @Test func `a file opened by its path comes with its metadata from a store for S3`()
            async throws
        {
            try await ObjectStore.with(.seaweedFS) { store in
                try store.python("s3.put_object(Bucket=bucket, Key='p/file', Body=b'bytes')")
                var options = MountedFolder.Options()
                options.environment = store.environment
                options.otherSource = store.source("p")
                options.mount = ["--log-level", "transport=debug"]
                // On a busy machine the open may come so late after the lookup that it asks again.
                var tries: [[Substring]] = []
                while tries.count < 5, tries.last?.count != 1 {
                    try MountedFolder.with(options) { folder in
                        #expect(try Files.read(folder.local("file")) == Array("bytes".utf8))
                        let log = String(
                            decoding: try Files.read("\(folder.state)/log"), as: UTF8.self)
                        tries.append(log.split(separator: "\n").filter { $0.contains("/p/file:") })
                    }
                }
                let requests = try #require(tries.last)
                #expect(requests.count == 1 && requests[0].contains(" GET "), "\(tries)")
            }
        }

        /// Counts the requests that Apache answered. One more is sent whenever Apache closes a connection
        /// at the moment of its next request, as it does with idle ones if all its threads are busy.
        @Test func `a new file costs three requests of Apache`() async throws {
            try await WebDAVServer.with(.apache) { server in
                var options = MountedFolder.Options()
                options.otherSource = server.source
                try MountedFolder.with(options) { folder in
                    try Files.makeDirectory(folder.local("d"))
                    for number in 0..<Self.count {
                        try Files.write(
                            [UInt8](repeating: 7, count: 10 << 10), to: folder.local("d/\(number)"))
                    }
                    try folder.sync()
                }
                var counts: [Substring: Int] = [:]
                for request in server.requests
                where request.contains("/d/") && !request.hasSuffix("/") {
                    counts[request.split(separator: " ")[1], default: 0] += 1
                }
                #expect(
                    counts == ["PUT": Self.count, "PROPFIND": Self.count, "PROPPATCH": Self.count])
            }
        }
    }
}
