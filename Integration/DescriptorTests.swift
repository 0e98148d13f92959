import Glibc
import Testing

extension MountedTests {
    /// Goal: the number of open files has no bound but the programs', and no request hangs for want
    /// of a descriptor.
    @Suite(.timeLimit(.minutes(3))) struct `Descriptors of the daemon` {
        private static let count = 700

        @Test func `are fewer than the files that are open`() throws {
            var options = MountedFolder.Options()
            options.descriptors = "64:128"
            try MountedFolder.with(options) { remote in
                for number in 0..<Self.count {
                    try Files.write(Self.bytes(number), to: "\(remote)/\(number)")
                }
            } _: { folder in
                let files = try (0..<Self.count).map { number in
                    // Some are written, and some of these are made here.
                    let name = number % 3 == 1 ? "new \(number)" : "\(number)"
                    let file = try OpenFile(
                        folder.local(name), number % 3 == 0 ? O_RDONLY : O_RDWR | O_CREAT)
                    if number % 3 != 0 { try file.write(Self.bytes(number)) }
                    return file
                }
                try Files.unlink(folder.local("0"))
                try Files.rename(folder.local("3"), to: folder.local("6"))
                for (number, file) in files.enumerated() {
                    #expect(try file.readAll() == Self.bytes(number))
                    if number % 3 != 0 { try file.synchronize() }
                }
                let daemon = try #require(folder.daemon)
                #expect(try Files.names(in: "/proc/\(daemon)/fd").count < 128)
                let limit = try Program.require(
                    "prlimit", "--pid", "\(daemon)", "--nofile", "--noheadings", "-o", "SOFT")
                #expect(limit.filter(\.isNumber) == "128")
            }
        }

        @Test func `that are too few are refused at the mount`() throws {
            let folder = try MountedFolder(.init())
            defer { folder.remove() }
            let result = try Program.start([
                "prlimit", "--nofile=127:127", Apus.path, "mount", folder.source, folder.point,
                "--state-dir", folder.state,
            ]).wait()
            #expect(result.status == 1)
            #expect(result.description.contains("only 127 files open at once"))
            #expect(!folder.isMounted)
        }

        private static func bytes(_ number: Int) -> [UInt8] { Array("file \(number)".utf8) }

        /// Method: with all bytes of the remote's rate spent, a read far ahead needs the source once more.
        @Test func `that are missing fail a request at once`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=1MiB"
            try MountedFolder.with(options) { remote in
                try Files.write([UInt8](repeating: 1, count: 48 << 20), to: "\(remote)/large")
                try Files.write([1], to: "\(remote)/small")
            } _: { folder in
                let file = try OpenFile(folder.local("large"), O_RDONLY)
                #expect(try file.read(1) == [1])
                #expect(try file.read(1, at: 32 << 20) == [1])
                let daemon = try #require(folder.daemon)
                try Program.require("prlimit", "--pid", "\(daemon)", "--nofile=3:")
                let clock = ContinuousClock()
                let time = clock.measure {
                    let read = #expect(throws: CallError.self) { try file.read(1, at: 44 << 20) }
                    #expect(read?.code == ENFILE)
                    let opened = #expect(throws: CallError.self) {
                        _ = try OpenFile(folder.local("small"), O_RDONLY)
                    }
                    #expect(opened?.code == ENFILE)
                }
                #expect(time < .seconds(20))
                #expect(folder.logTail.contains("too many open files"))
                try Program.require("prlimit", "--pid", "\(daemon)", "--nofile=1024:")
                #expect(try Files.read(folder.local("small")) == [1])
            }
        }
    }
}
