import Foundation
import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `A file rewritten during its upload` {
        /// Goal: every version that the remote ever shows was the file's content at one moment
        /// (I3).
        ///
        /// Method: version k consists of nothing but k, and has a size of its own. Each is written
        /// while the one before is being sent; a watcher reads whatever the remote shows.
        @Test(.timeLimit(.minutes(3)))
        func `never appears torn on the remote`() throws {
            try rewriteDuringUploads(MountedFolder.Options())
        }

        @Test(
            .timeLimit(.minutes(3)),
            .enabled(if: LoopDisk.isPossible, "a disk with reflinks takes root and mkfs.xfs"))
        func `never appears torn where snapshots share their bytes with the file`() throws {
            let disk = try LoopDisk()
            defer { disk.remove() }
            var options = MountedFolder.Options()
            options.stateParent = disk.path
            try rewriteDuringUploads(options)
        }

        private static let sizes = (1...4).map { (3 << 20) + $0 * 4097 }

        private func rewriteDuringUploads(_ given: MountedFolder.Options) throws {
            var options = given
            options.source = "rate=3MiB"
            try MountedFolder.with(options) { folder in
                let watcher = VersionWatcher(folder.remote("file"))
                watcher.start()
                defer { watcher.stop() }
                var rewrittenDuringUpload = 0
                for (index, size) in Self.sizes.enumerated() {
                    if index > 0 {
                        try eventually("uploading", within: .seconds(30)) {
                            try folder.state(of: "file") == "uploading"
                        }
                    }
                    let file = try OpenFile(
                        folder.local("file"),
                        O_RDWR | O_CREAT | (index == 2 ? O_TRUNC : 0))
                    if index > 0 { rewrittenDuringUpload += 1 }
                    try rewrite(file, with: UInt8(index + 1), size: size)
                }
                try folder.sync()
                let versions = watcher.stop()
                #expect(rewrittenDuringUpload == Self.sizes.count - 1)
                #expect(versions.torn == [])
                #expect(versions.whole.count >= 2, "\(versions.whole)")
                #expect(versions.whole == versions.whole.sorted(), "versions went back")
                let last = UInt8(Self.sizes.count)
                #expect(
                    try Files.read(folder.remote("file"))
                        == [UInt8](repeating: last, count: Self.sizes[Int(last) - 1]))
            }
        }

        /// In many pieces, so that an upload that read along would see some of them.
        private func rewrite(_ file: OpenFile, with byte: UInt8, size: Int) throws {
            let piece = [UInt8](repeating: byte, count: 64 << 10)
            for offset in stride(from: 0, to: size, by: piece.count) {
                try file.write(piece.prefix(size - offset), at: offset)
            }
            try file.close()
        }
    }
}
