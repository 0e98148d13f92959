import Glibc
import Testing

extension MountedTests {
    @Suite
    struct `Unmounting` {
        private static let slow: MountedFolder.Options = {
            var options = MountedFolder.Options()
            options.source = "rate=2MiB"
            return options
        }()
        private static let bytes = SeededRandom.bytes(4 << 20, seed: 7)

        @Test(.timeLimit(.minutes(2)))
        func `waits until everything is uploaded`() throws {
            try MountedFolder.with(Self.slow) { folder in
                try Files.write(Self.bytes, to: folder.local("new"))
                try folder.unmount()
                #expect(try Files.read(folder.remote("new")) == Self.bytes)
                #expect(try Files.names(in: folder.remote) == ["new"], "no temporary is left")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `with --now leaves uploads queued for the next mount`() throws {
            try MountedFolder.with(Self.slow) { folder in
                try Files.write(Self.bytes, to: folder.local("new"))
                try eventually("uploading") { try folder.state(of: "new") == "uploading" }
                try folder.unmount(now: true)
                #expect(!Files.exists(folder.remote("new")))

                try folder.mount()
                #expect(["dirty", "uploading"].contains(try folder.state(of: "new")))
                #expect(try Files.read(folder.local("new")) == Self.bytes)
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == Self.bytes)
                #expect(try Files.names(in: folder.remote) == ["new"], "no temporary is left")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is refused with a remedy while a file is open`() throws {
            try MountedFolder.with { remote in
                try Files.write([1], to: remote + "/file")
            } _: { folder in
                let file = try OpenFile(folder.local("file"), O_RDONLY)
                try Apus.expectRefusal("unmount", folder.point, naming: "in use")
                #expect(try file.readAll() == [1])
                try file.close()
                try folder.unmount()
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `by another program ends the daemon and keeps what is queued`() throws {
            try MountedFolder.with(Self.slow) { folder in
                try Files.write(Self.bytes, to: folder.local("new"))
                try Program.require("fusermount3", "-u", folder.point)
                try eventually("the daemon ends") { !folder.isDaemonRunning }
                try folder.mount()
                try folder.sync()
                #expect(try Files.read(folder.remote("new")) == Self.bytes)
            }
        }
    }
}
