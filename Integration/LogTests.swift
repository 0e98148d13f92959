import Foundation
import Testing

extension MountedTests {
    @Suite
    struct `The log of a mount` {
        @Test(.timeLimit(.minutes(2)))
        func `has the requests to a store at the level debug, and no secret`() async throws {
            let account = WebDAVServer.Account(scheme: .basic, user: "me", password: "s3cret-word")
            try await WebDAVServer.with(.apache, account: account) { server in
                var options = MountedFolder.Options()
                options.otherSource = server.source
                options.mount = ["--log-level", "info,transport=debug", "--log-format", "json"]
                options.environment = [
                    "APUS_WEBDAV_USERNAME": "me",
                    "APUS_WEBDAV_PASSWORD": "s3cret-word",
                ]
                try MountedFolder.with(options) { folder in
                    try Files.write([1, 2, 3], to: folder.local("a b"))
                    try folder.sync()
                    let output = try Program.require(
                        Apus.path, "log", folder.point, "--lines", "10000")
                    let lines = output.split(separator: "\n")
                    let objects = try lines.map {
                        try #require(
                            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
                    }
                    let sent = objects.first {
                        $0["module"] as? String == "transport"
                            && ($0["message"] as? String)?.hasPrefix("PUT ") == true
                    }
                    #expect((sent?["message"] as? String)?.contains("a%20b") == true, "\(output)")
                    #expect((sent?["values"] as? [String: String])?["sentBytes"] == "3")
                    let basic = Data("me:s3cret-word".utf8).base64EncodedString()
                    #expect(!output.contains("s3cret-word") && !output.contains(basic))
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is begun anew at 10 MiB, and the one before is kept`() throws {
            try MountedFolder.with { folder in
                try folder.unmount()
                let (log, former) = ("\(folder.state)/log", "\(folder.state)/log.1")
                for megabytes in [9, 11] {
                    try Program.require("truncate", "--size", "\(megabytes << 20)", log)
                    try folder.mount()
                    if megabytes == 9 { #expect(!Files.exists(former)) }
                    if megabytes == 11 {
                        try eventually("the log is begun anew") { Files.exists(former) }
                    }
                    try folder.unmount()
                }
                #expect(try Files.status(former).st_size >= 11 << 20)
                #expect(try (1..<(1 << 20)).contains(Files.status(log).st_size))
                let shown = try Program.require(Apus.path, "log", folder.state)
                #expect(shown.contains("Unmounted "), "\(shown)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is shown, followed, and shown after the end`() throws {
            try MountedFolder.with { folder in
                let shown = try Program.require(Apus.path, "log", folder.point)
                #expect(shown.contains(" info daemon: Mounting "), "\(shown)")
                #expect(try Program.require(Apus.path, "log", folder.point, "-n", "0").isEmpty)

                let follower = try Apus.start(["log", folder.state, "--follow"])
                defer { follower.killAll() }
                try eventually("the follower has begun") {
                    follower.outputSoFar.contains(" info daemon: Mounting ")
                }
                try Program.require(Apus.path, "bandwidth", folder.point, "1MiB:")
                try eventually("the line is followed") {
                    follower.outputSoFar.contains("The bandwidth is at most 1.0 MiB/s up.")
                }
                try folder.unmount()
                let last = try Program.require(Apus.path, "log", folder.state, "--lines", "1")
                #expect(last.contains("Unmounted ") && last.filter { $0 == "\n" }.count == 1)
            }
        }

        @Test func `that is missing, or of no mount, is refused with the reason`() throws {
            try Apus.expectRefusal("log", "/proc", naming: "show the log of /proc")
            let level = try Apus.run("mount", "folder:/a", "/b", "--log-level", "transport=loud")
            #expect(level.status == 2 && level.errors.contains("write one of trace, debug"))
        }
    }
}
