import Foundation
import Glibc
import Synchronization
import TestBytes
import Testing

extension MountedTests {
    /// Goal: programs that need a dead server soon get an error, and delay no other program.
    ///
    /// Method: the server's processes are stopped, so that it accepts connections and never answers,
    /// or killed, so that its port refuses them.
    @Suite(.timeLimit(.minutes(3))) struct `A server that is gone` {
        private static let count = 300

        private func options(
            _ server: WebDAVServer, _ mount: [String] = []
        ) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.otherSource = server.source
            options.mount = mount
            return options
        }

        private static func populate(_ server: WebDAVServer) throws {
            for number in 0..<count {
                try Files.write(bytes(number), to: "\(server.folder)/\(number)")
            }
            try Files.write([UInt8](repeating: 7, count: 1 << 20), to: "\(server.folder)/cached")
            try Files.write([UInt8](repeating: 8, count: 400 << 20), to: "\(server.folder)/large")
        }

        private static func bytes(_ number: Int) -> [UInt8] { Array("file \(number)".utf8) }

        /// Method: with `--offline=wait` the cold reads wait until the server is back, so that all of
        /// them wait while the others are made. Half of them wait in `open`, half in `read`, whose
        /// requests the kernel counts.
        @Test func `delays no read or listing of local things, however many wait for it`()
            async throws
        {
            try await WebDAVServer.with(.apache) { server in
                try Self.populate(server)
                try MountedFolder.with(options(server, ["--offline=wait"])) { folder in
                    #expect(try Files.names(in: folder.point).count == Self.count + 2)
                    let cached = try Files.read(folder.local("cached"))
                    // From now on its first MiB is local, and opening it needs nothing of the server.
                    let large = folder.local("large")
                    _ = try OpenFile(large, O_RDONLY).read(1)
                    try server.pause()
                    defer { server.resume() }
                    let begun = Mutex(0)
                    let results = Mutex<[Result<[UInt8], CallError>]>([])
                    let threads = (0..<Self.count).map { number in
                        Thread {
                            begun.withLock { $0 += 1 }
                            let result = Result { () throws(CallError) in
                                // From the end, where the rest of the file has not come yet.
                                number % 2 == 0
                                    ? try Files.read(folder.local("\(number)"))
                                    : try OpenFile(large, O_RDONLY).read(
                                        1, at: (399 - number / 2) << 20)
                            }
                            results.withLock { $0.append(result) }
                        }
                    }
                    for thread in threads {
                        thread.stackSize = 1 << 18
                        thread.start()
                    }
                    try eventually("all of them are made") {
                        begun.withLock { $0 } == Self.count
                    }
                    var longest = Duration.zero
                    for _ in 0..<50 {
                        let start = ContinuousClock.now
                        #expect(try Self.readWithoutPageCache(folder.local("cached")) == cached)
                        let middle = ContinuousClock.now
                        #expect(try Files.names(in: folder.point).count == Self.count + 2)
                        longest = max(longest, middle - start, ContinuousClock.now - middle)
                    }
                    let ended = results.withLock(\.count)
                    print("beside \(Self.count) cold reads: \(longest); \(ended) of them ended")
                    #expect(ended < Self.count / 2, "they wait for a server that says nothing")
                    server.resume()
                    try eventually("all are answered") {
                        results.withLock(\.count) == Self.count
                    }
                    for result in results.withLock({ $0 }) { _ = try result.get() }
                }
            }
        }

        @Test func `fails what needs it, until it is back`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try Self.populate(server)
                try MountedFolder.with(options(server)) { folder in
                    _ = try Files.names(in: folder.point)
                    _ = try Files.read(folder.local("0"))
                    try server.pause()
                    defer { server.resume() }
                    try Self.expectTimeout("silent", folder.local("1"))
                    try Self.expectTimeout("silent, known", folder.local("2"))
                    try folder.evict("0")
                    try Self.expectTimeout("silent, known, evicted", folder.local("0"))
                    server.resume()
                    try Self.expectReturn("silent", folder, 3)
                    try server.kill()
                    try Self.expectTimeout("refusing", folder.local("4"))
                    // A new directory is local, whether the server is there or not.
                    try Files.makeDirectory(folder.local("new"))
                    #expect(try Files.names(in: folder.local("new")) == [])
                    try server.restart()
                    try Self.expectReturn("refusing", folder, 5)
                    try folder.sync()
                }
            }
        }

        /// Goal: slowness is no outage, not even of the first request.
        @Test func `is not one that needs six seconds for any answer`() throws {
            var options = MountedFolder.Options()
            options.source = "latency=6s"
            try MountedFolder.with(options) { remote in
                for number in 0..<4 {
                    try Files.write(Self.bytes(number), to: "\(remote)/\(number)")
                }
            } _: { folder in
                #expect(try Files.names(in: folder.point).count == 4)
                let results = Mutex<[Int: Result<[UInt8], CallError>]>([:])
                DispatchQueue.concurrentPerform(iterations: 4) { number in
                    let result = Result { () throws(CallError) in
                        try Files.read(folder.local("\(number)"))
                    }
                    results.withLock { $0[number] = result }
                }
                for (number, result) in results.withLock({ $0 }) {
                    #expect(try result.get() == Self.bytes(number))
                }
                try Files.write([1], to: folder.local("new"))
                try folder.sync()
                #expect(try Files.read("\(folder.remote)/new") == [1])
            }
        }

        /// Goal: bytes that were on their way when the server stopped to answer arrive, once.
        @Test func `continues an upload once it answers again`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try MountedFolder.with(options(server)) { folder in
                    let bytes = TestBytes.random(24 << 20, seed: 14)
                    try Files.write([1], to: folder.local("first"))
                    try folder.sync()
                    try server.pause()
                    defer { server.resume() }
                    try Files.write(bytes, to: folder.local("large"))
                    try Files.write([2], to: folder.local("small"))
                    let wait = try Apus.start(["sync", folder.point]).wait()
                    #expect(wait.status == 1, "\(wait)")
                    server.resume()
                    try folder.sync()
                    #expect(try Set(server.names) == ["first", "large", "small"])
                    #expect(try Files.read("\(server.folder)/large") == bytes)
                }
            }
        }

        @Test func `ends a sync with the reason`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try MountedFolder.with(options(server)) { folder in
                    try Files.write([1], to: folder.local("first"))
                    try folder.sync()
                    try server.pause()
                    defer { server.resume() }
                    try Files.write([1], to: folder.local("file"))
                    let json = try Apus.start(["sync", "--json", folder.point])
                    let text = try Apus.start(["sync", folder.point]).wait()
                    #expect(text.status == 1, "\(text)")
                    #expect(text.errors.contains("the remote has not answered for"), "\(text)")
                    let result = try json.wait()
                    #expect(result.status == 1, "\(result)")
                    let last = try #require(result.output.split(separator: "\n").last)
                    #expect(last.contains("\"done\":true") && last.contains("\"unreachable\""))
                    server.resume()
                    try folder.sync()
                    #expect(try server.names.contains("file"))
                }
            }
        }

        @Test func `ends a sync with the file that it fails, once it has all others`() async throws
        {
            try await WebDAVServer.with(.apache) { server in
                try MountedFolder.with(options(server)) { folder in
                    let failing = WebDAVServer.failingName
                    try Files.write([1], to: folder.local(failing))
                    let names = (0..<20).map { "\($0)" }
                    for name in names { try Files.write([1], to: folder.local(name)) }
                    let json = try Apus.start(["sync", "--json", folder.point])
                    try eventually("the server has all others") {
                        try Set(server.names) == Set(names)
                    }
                    let text = try Apus.start(["sync", folder.point]).wait()
                    #expect(text.status == 1, "\(text)")
                    #expect(text.errors.contains("\(failing): "), "\(text)")
                    #expect(text.errors.contains("500"), "\(text)")
                    let result = try json.wait()
                    #expect(result.status == 1)
                    let reports = result.output.split(separator: "\n")
                    let isTold = reports.dropLast().contains {
                        $0.contains("\"waiting\"") && $0.contains(failing) && $0.contains("500")
                    }
                    #expect(isTold, "\(result)")
                    #expect(try #require(reports.last).contains("\"unsent\":1"), "\(result)")
                }
            }
        }

        // MARK: Helpers

        private static func readWithoutPageCache(_ path: String) throws -> [UInt8] {
            let file = try OpenFile(path, O_RDONLY)
            try file.dropPages()
            return try file.readAll()
        }

        /// The limit is far below the minute of a request that waits, and leaves room for a slow machine.
        private static func expectTimeout(_ what: String, _ path: String) throws {
            let start = ContinuousClock.now
            let error = #expect(throws: CallError.self) { _ = try Files.read(path) }
            let duration = ContinuousClock.now - start
            print("a cold read of a server that is \(what): \(duration)")
            #expect(error?.code == ETIMEDOUT)
            #expect(duration < .seconds(20))
        }

        private static func expectReturn(
            _ what: String, _ folder: MountedFolder, _ number: Int
        ) throws {
            let start = ContinuousClock.now
            try eventually("reads work again", within: .seconds(20)) {
                (try? Files.read(folder.local("\(number)"))) == bytes(number)
            }
            print("reads work again after it was \(what): \(ContinuousClock.now - start)")
        }
    }
}
