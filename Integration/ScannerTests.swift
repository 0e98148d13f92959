import Foundation
import Glibc
import TestBytes
import Testing

extension MountedTests {
    /// Goal: an indexer or a maker of thumbnails does not download a whole collection.
    ///
    /// Method: `head` under the name of such a program reads the beginning of each file; a relay counts the
    /// bytes that the server sends.
    @Suite(.timeLimit(.minutes(4))) struct `Programs that scan` {
        private static let count = 20
        private static let size = 2 << 20
        /// The beginning of a file, which the kernel reads ahead of, and headers.
        private static let perFile = 64 << 10

        private static func with(_ body: (MountedFolder, Relay) throws -> Void) async throws {
            var options = MountedFolder.Options()
            options.environment["APUS_SCANNERS"] = "other:own-scanner"
            options.mount = ["--scanner", "named-scanner", "--scanner", "another"]
            try await WebDAVServer.with(.apache) { server in
                for number in 0..<count {
                    try Files.write(
                        TestBytes.random(size, seed: UInt64(number)),
                        to: "\(server.folder)/\(number)")
                }
                try Relay.with(server.port) { relay in
                    options.otherSource = "webdav+http://127.0.0.1:\(relay.port)"
                    try MountedFolder.with(options) { folder in
                        #expect(try Files.names(in: folder.point).count == count)
                        try body(folder, relay)
                    }
                }
            }
        }

        /// - Returns: The number of bytes that the server has sent meanwhile.
        private static func read(
            _ program: [String], _ folder: MountedFolder, _ relay: Relay
        ) throws -> Int {
            let before = relay.count(.fromServer)
            for number in 0..<count {
                let result = try Program.start(program + [folder.local("\(number)")]).wait()
                #expect(result.status == 0, Comment(rawValue: result.description))
            }
            return relay.count(.fromServer) - before
        }

        private struct Report: Decodable {
            struct Downloads: Decodable {
                var program: String
                var bytes: Int
                var files: Int
            }

            var programs: [Downloads]
        }

        /// - Returns: The programs that have had bytes fetched, as `apus status --who` tells.
        private static func programs(_ folder: MountedFolder) throws -> [Report.Downloads] {
            let text = try Program.require(Apus.path, "status", folder.point, "--who", "--json")
            let reports = try JSONDecoder().decode([Report].self, from: Data(text.utf8))
            return try #require(reports.first).programs
        }

        @Test func `get the beginnings of files that they read, and others what they need`()
            async throws
        {
            try await Self.with { folder, relay in
                let scanner = "\(folder.base)/gdk-pixbuf-thumbnailer"
                try FileManager.default.copyItem(atPath: "/usr/bin/head", toPath: scanner)
                let scanned = try Self.read([scanner, "-c", "4096"], folder, relay)
                print("a scanner: \(scanned) bytes of \(Self.count * Self.size)")
                #expect(scanned < Self.count * Self.perFile)
                let told = try Self.programs(folder)
                #expect(told.map(\.program) == ["gdk-pixbuf-thumbnailer"])
                #expect(told.first?.files == Self.count)
                #expect(told.first.map { $0.bytes <= scanned && $0.bytes > 0 } == true)
                for number in 0..<Self.count {
                    #expect(
                        try Files.read(folder.local("\(number)"))
                            == TestBytes.random(Self.size, seed: UInt64(number)))
                }
            }
        }

        /// Has a scanner read each file, and compares what it read with the beginning of the file.
        ///
        /// - Parameter expression: In Python: the bytes that it takes of `file`, which is not buffered.
        /// - Returns: The number of bytes of files that were fetched for it.
        private static func scan(
            _ expression: String, bytes: Int, _ folder: MountedFolder
        ) throws -> Int {
            let (scanner, copy) = ("\(folder.base)/own-scanner", "\(folder.base)/found")
            let script = """
                #!/usr/bin/env python3
                import mmap, sys
                with open(sys.argv[1], 'rb', buffering=0) as file:
                    found = \(expression)
                with open(sys.argv[2], 'wb') as copy:
                    copy.write(found)

                """
            try Files.write(Array(script.utf8), to: scanner)
            try Files.setMode(0o755, of: scanner)
            for number in 0..<count {
                _ = try Program.require(scanner, folder.local("\(number)"), copy)
                let found = try Files.read(copy)
                #expect(
                    found.elementsEqual(
                        TestBytes.random(size, seed: UInt64(number)).prefix(bytes)))
            }
            return try programs(folder).first { $0.program == "own-scanner" }?.bytes ?? 0
        }

        /// Older kernels read ahead of them: reads that pass the cache would keep them from mapping a file.
        @Test(
            .enabled(if: RunningKernel.isAtLeast(6, 6), "the kernel reads ahead"),
            arguments: ["file.read(65536)", "b''.join(file.read(4096) for _ in range(16))"])
        func `get the bytes that they read, and not one more`(expression: String) async throws {
            let bytes = 64 << 10
            try await Self.with { folder, _ in
                let fetched = try Self.scan(expression, bytes: bytes, folder)
                #expect(fetched == Self.count * bytes)
            }
        }

        @Test(arguments: ["MAP_SHARED", "MAP_PRIVATE"])
        func `can map files`(sharing: String) async throws {
            try await Self.with { folder, _ in
                let map = "mmap.mmap(file.fileno(), 0, flags=mmap.\(sharing), prot=mmap.PROT_READ)"
                // Of a file that is read beside the map as well.
                let expression = "file.read(65536) and \(map)[:]"
                let fetched = try Self.scan(expression, bytes: Self.size, folder)
                #expect(fetched == Self.count * Self.size)
            }
        }

        @Test(arguments: ["own-scanner", "named-scanner"])
        func `are also scripts, and those that the user names`(name: String) async throws {
            try await Self.with { folder, relay in
                let scanner = "\(folder.base)/\(name)"
                let script = """
                    #!/usr/bin/env python3
                    import sys
                    open(sys.argv[1], 'rb', buffering=0).read(4096)

                    """
                try Files.write(Array(script.utf8), to: scanner)
                try Files.setMode(0o755, of: scanner)
                let scanned = try Self.read([scanner], folder, relay)
                print("a script: \(scanned) bytes of \(Self.count * Self.size)")
                #expect(scanned < Self.count * Self.perFile)
            }
        }
    }
}
