import Foundation
import Glibc
import TestBytes
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
                try Files.write(TestBytes.random(32 << 20, seed: 1), to: folder.local("big"))
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

        /// Goal: a wait for a server that answers all but one request names its change.
        @Test(.timeLimit(.minutes(2)))
        func `name a deletion that the server does not answer, and end with it`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try Files.write([1], to: "\(server.folder)/gone")
                try Relay.with(server.port) { relay in
                    var options = MountedFolder.Options()
                    options.otherSource = "webdav+http://127.0.0.1:\(relay.port)"
                    try MountedFolder.with(options) { folder in
                        // A request that is held back is sent again once Apache ends its idle connection.
                        relay.hold(.fromServer, of: "DELETE")
                        try Files.unlink(folder.local("gone"))
                        let sync = try Apus.start(["sync", folder.point, "--timeout", "10s"])
                        #expect(relay.waitForHold())
                        try eventually("the status has the silence") {
                            let status = try Program.require(Apus.path, "status", folder.point)
                            return status.contains("deleting  1 B  gone  (for")
                                && status.contains("without an answer")
                        }
                        let result = try sync.wait()
                        #expect(result.status == 1, "\(result)")
                        #expect(result.errors.contains("to go; gone: deleting (for "), "\(result)")
                        #expect(
                            result.output.contains(
                                "waiting gone: it is being deleted on the remote, without an answer"
                            ),
                            "\(result)")
                        let unmount = try Apus.run("unmount", folder.point, "--timeout", "4s")
                        #expect(unmount.status == 1 && folder.isMounted, "\(unmount)")
                        #expect(unmount.errors.contains("gone: deleting (for "), "\(unmount)")
                        relay.release()
                        try folder.sync()
                        #expect(try server.names == [])
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `name a daemon that does not answer, and end with that`() throws {
            try MountedFolder.with { folder in
                let daemon = try #require(folder.daemon)
                try CallError.check(kill(daemon, SIGSTOP), "stop the daemon")
                defer { kill(daemon, SIGCONT) }
                // A thread that is about to stop may still take a call, which nothing can interrupt then.
                try eventually("each of its threads stands still") {
                    Program.standsStill(daemon)
                }
                // It takes as long as the others together.
                let patient = try Apus.start(["unmount", folder.point, "--now"])
                let status = try Apus.run("status", folder.point, "--timeout", "4s")
                #expect(status.status == 1, "\(status)")
                #expect(
                    status.errors.contains(
                        "note: waiting for the daemon of \(folder.point), which has not answered for 3 s"
                    ),
                    "\(status)")
                #expect(status.errors.contains("it has not answered for 4 s; "), "\(status)")
                let retry = try Apus.run("status", folder.point, "--retry", "--timeout", "1s")
                #expect(retry.status == 1, "\(retry)")
                let sync = try Apus.run("sync", folder.point, "--timeout", "1s")
                #expect(sync.status == 1, "\(sync)")
                #expect(sync.errors.contains("it has not answered for 6 s; "), "\(sync)")
                for options in [[], ["--now"]] {
                    let unmount = try Apus.run(
                        ["unmount", folder.point, "--timeout", "1s"] + options)
                    #expect(unmount.status == 1 && folder.isMounted, "\(unmount)")
                    #expect(unmount.errors.contains("it has not answered for 6 s; "), "\(unmount)")
                }
                let unmount = try patient.wait()
                #expect(unmount.status == 1 && folder.isMounted, "\(unmount)")
                #expect(
                    unmount.errors.contains(
                        "it has not answered for 30 s; end its process with `kill -9`"),
                    "\(unmount)")
            }
        }
    }
}
