import Foundation
import Testing

extension MountedTests {
    @Suite
    struct `Waits with a limit` {
        /// Goal: a script waits no longer than it wants to, and its log says what for.
        @Test(.timeLimit(.minutes(2)))
        func `end with the items that wait, and leave the folder mounted`() throws {
            var options = MountedFolder.Options()
            options.source = "rate=64KiB"
            try MountedFolder.with(options) { folder in
                try Files.write(SeededRandom.bytes(32 << 20, seed: 1), to: folder.local("big"))
                let sync = try Apus.run("sync", folder.point, "--timeout", "1s")
                #expect(sync.status == 1 && sync.errorLines.last?.contains("in time") == true)
                #expect(sync.errors.contains("1 item still waits"), "\(sync)")
                #expect(sync.output.contains("waiting big: it is being sent"), "\(sync)")
                #expect(sync.output.contains("(for "), "\(sync)")
                let unmount = try Apus.run("unmount", folder.point, "--timeout", "1s")
                #expect(unmount.status == 1, "\(unmount)")
                #expect(unmount.output.contains("waiting big: "), "\(unmount)")
                #expect(unmount.errors.contains("not sent in time"), "\(unmount)")
                #expect(folder.isMounted)
                try folder.unmount(now: true)
            }
        }
    }
}
