import Dispatch
import Foundation
import Glibc
import Synchronization
import TestBytes
import Testing

extension MountedTests {
    @Suite
    struct `A mount with a small cache` {
        private static let bound = 64 << 20
        /// How far the cache may exceed its bound.
        private static let slack = 64 << 20

        /// Method: after each read the content is measured.
        @Test(.timeLimit(.minutes(4)))
        func `keeps its bound while four readers go through more`() throws {
            var options = MountedFolder.Options()
            options.mount = ["--cache-size", "64MiB"]
            let files = (0..<4).map { TestBytes.random(50 << 20, seed: UInt64($0)) }
            try MountedFolder.with(options) { remote in
                for (index, bytes) in files.enumerated() {
                    try Files.write(bytes, to: "\(remote)/file\(index)")
                }
            } _: { folder in
                let most = Mutex(0)
                let differing = Mutex<[Int]>([])
                DispatchQueue.concurrentPerform(iterations: files.count) { index in
                    let isEqual = try? Self.compare("file\(index)", files[index], in: folder) {
                        let bytes = Self.contentBytes(in: folder)
                        most.withLock { $0 = max($0, bytes) }
                    }
                    if isEqual != true { differing.withLock { $0.append(index) } }
                }
                #expect(differing.withLock(\.self) == [])
                let bytes = most.withLock(\.self)
                #expect(bytes <= Self.bound + Self.slack, "\(bytes >> 20) MiB of content")
            }
        }

        /// Method: the state is on a disk of its own, of which half is to stay free; then another program
        /// takes some.
        @Test(.timeLimit(.minutes(4)), .enabled(if: LoopDisk.isPossible))
        func `leaves space on its disk free for others`() throws {
            let disk = try LoopDisk(.ext4, mebibytes: 400)
            defer { disk.remove() }
            var options = MountedFolder.Options()
            options.stateParent = disk.path
            options.mount = ["--cache-size", "1GiB", "--keep-free", "50%"]
            let bytes = TestBytes.random(20 << 20, seed: 9)
            try MountedFolder.with(options) { remote in
                for number in 0..<15 { try Files.write(bytes, to: "\(remote)/\(number)") }
            } _: { folder in
                for number in 0..<15 {
                    #expect(try Files.read(folder.local("\(number)")) == bytes)
                }
                #expect(try disk.freeMebibytes >= 180)
                #expect(Self.contentBytes(in: folder) >= 60 << 20, "the rest is used")
                let text = try Program.require(Apus.path, "status", folder.point)
                let bound = try #require(text.firstMatch(of: #/of at most (\d+)[.\d]* MiB/#)?.1)
                #expect(Int(bound)! < 200, "less than --cache-size, as the disk holds no more")
                try disk.occupy(mebibytes: 60)
                try eventually("local copies give way") { try disk.freeMebibytes >= 180 }
                #expect(try Files.read(folder.local("0")) == bytes)
                // The user is told if nothing fits at all.
                try folder.unmount()
                try disk.occupy(mebibytes: 200)
                let result = try Apus.run(
                    "mount", folder.source, folder.point, "--state-dir", folder.state,
                    "--keep-free", "50%")
                #expect(result.status == 0 && result.errors.contains("of --keep-free"), "\(result)")
                #expect(try Files.read(folder.local("1")) == bytes)
            }
        }

        private static func compare(
            _ name: String, _ bytes: [UInt8], in folder: MountedFolder, after: () -> Void
        ) throws -> Bool {
            let file = try OpenFile(folder.local(name), O_RDONLY)
            for start in stride(from: 0, to: bytes.count, by: 1 << 20) {
                let count = min(1 << 20, bytes.count - start)
                guard try file.read(count, at: start).elementsEqual(bytes[start..<start + count])
                else { return false }
                after()
            }
            try file.close()
            return true
        }

        /// The space of all content files on the disk.
        private static func contentBytes(in folder: MountedFolder) -> Int {
            let content = "\(folder.state)/content"
            guard let names = FileManager.default.enumerator(atPath: content) else { return 0 }
            return names.reduce(0) { sum, name in
                var status = stat()
                guard let name = name as? String, lstat("\(content)/\(name)", &status) == 0,
                    status.st_mode & S_IFMT == S_IFREG
                else { return sum }
                return sum + Int(status.st_blocks) * 512
            }
        }
    }
}
