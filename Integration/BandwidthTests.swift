import Foundation
import TestBytes
import Testing

extension MountedTests {
    /// Goal: a limit holds for files that are sent and received, and for later mounts.
    ///
    /// Method: compares bytes with the time that has passed when they were counted, which may be any.
    @Suite
    struct `The bandwidth of a mount` {
        /// Limited by the transport, by us for a folder, and by rclone, which limits its connections.
        private static let kinds = [CloudKind.webdav, .folder, .rcloneWebDAV]
            .filter(CloudKind.chosen.contains)
        private static let perSecond = 256 << 10
        /// The bytes that may move before the limit takes effect: rclone has large pieces.
        private static let free = 8 << 20
        private static let bytes = TestBytes.random(12 << 20, seed: 3)

        /// Requires a counter of `apus metrics` to be as low as the limit demands.
        private func limitedCount(
            _ name: String, _ folder: MountedFolder, since start: ContinuousClock.Instant
        ) throws -> Int {
            let text = try Program.require(Apus.path, "metrics", folder.point)
            let line = text.split(separator: "\n").first { $0.hasPrefix(name + "{") }
            let count = try #require(
                line?.split(separator: " ").last.flatMap { Int($0) }, "\(name)")
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            #expect(Double(count) <= Double(Self.perSecond) * seconds + Double(Self.free))
            return count
        }

        @Test(.timeLimit(.minutes(3)), arguments: kinds)
        func `limits what is received, until it is lifted`(kind: CloudKind) async throws {
            var options = MountedFolder.Options()
            options.mount = ["--bandwidth", ":256KiB"]
            try await kind.with(options) { cloud in
                try cloud.store(Self.bytes, "film")
                let start = ContinuousClock.now
                try MountedFolder.with(cloud.options) { folder in
                    let copy = try Program.start(["md5sum", folder.local("film")])
                    try eventually("bytes arrive") {
                        try limitedCount("apus_remote_received_bytes_total", folder, since: start)
                            > 1 << 20
                    }
                    let lifted = try Program.require(Apus.path, "bandwidth", folder.point, "off")
                    #expect(lifted == "\(folder.point): not limited\n")
                    #expect(try copy.wait().status == 0)
                    let isSame = try Files.read(folder.local("film")) == Self.bytes
                    #expect(isSame)
                }
            }
        }

        @Test(.timeLimit(.minutes(3)), arguments: kinds)
        func `limits what is sent, and holds after a remount`(kind: CloudKind) async throws {
            try await kind.with(MountedFolder.Options()) { folder, contents in
                let shown = try Program.require(Apus.path, "bandwidth", folder.point, "256KiB:")
                #expect(shown == "\(folder.point): at most 256 KiB/s up\n")
                try folder.unmount()
                try folder.mount()
                let json = try Program.require(Apus.path, "bandwidth", folder.point, "--json")
                #expect(json.contains("262144") && !json.contains("down"), "\(json)")

                let start = ContinuousClock.now
                try Files.write(Self.bytes, to: folder.local("new"))
                try eventually("bytes leave") {
                    try limitedCount("apus_remote_sent_bytes_total", folder, since: start) > 0
                }
                try Program.require(Apus.path, "bandwidth", folder.point, "off")
                try folder.sync()
                #expect(try contents().nodes["new"] != nil)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `that is misspelled is refused with what to write`() throws {
            try MountedFolder.with { folder in
                for word in ["1MiB", "1MiB:x", "10:10", "1MiB:2MiB:3MiB"] {
                    let result = try Apus.run(["bandwidth", folder.point, word])
                    #expect(result.status == 2, "\(result)")
                    #expect(
                        result.errors.contains("write") || result.errors.contains("at least"),
                        "\(result)")
                }
            }
        }
    }
}
