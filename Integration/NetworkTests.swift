import Glibc
import Testing

extension MountedTests {
    @Suite(.enabled(if: geteuid() == 0, "only root may make a network"), .timeLimit(.minutes(3)))
    struct `Changes of the network` {
        private static let count = 20

        /// Method: two mounts are without their server, one of them in a network of its own, whose routes
        /// change. The other one shows how often a server is probed without that.
        @Test func `have a server probed at once that is out of reach`() async throws {
            try await WebDAVServer.with(.apache) { server in
                var options = MountedFolder.Options()
                options.otherSource = server.source
                options.mount = ["--log-level", "info,transport=debug"]
                try MountedFolder.with(options) { resting in
                    try MountedFolder.with(options) { moving in
                        try moving.unmount()
                        try server.kill()
                        let network = try Network(moving.base + "/network")
                        defer { network.end() }
                        try network.require(
                            [Apus.path, "mount", moving.source, moving.point]
                                + ["--state-dir", moving.state] + options.mount)
                        for folder in [resting, moving] {
                            try eventually("the outage is known") {
                                try !folder.report().remote.reachable
                            }
                        }
                        let restingBefore = try probes(resting)
                        for number in 1...Self.count {
                            let before = try probes(moving)
                            // For documentation only (RFC 5737).
                            try network.require([
                                "ip", "route", "add", "blackhole", "198.51.100.\(number)/32",
                            ])
                            try eventually("a probe") { try probes(moving) > before }
                        }
                        let others = try probes(resting) - restingBefore
                        print("\(Self.count) changes; \(others) probes of the other mount")
                        #expect(others < Self.count * 3 / 4, "it is probed at intervals only")
                    }
                }
            }
        }

        /// The requests so far: nothing else is sent during an outage.
        private func probes(_ folder: MountedFolder) throws -> Int {
            let log = String(decoding: try Files.read("\(folder.state)/log"), as: UTF8.self)
            return log.split(separator: "\n").count { $0.contains(" debug transport: ") }
        }
    }
}

/// A network namespace without an address.
private final class Network {
    private let keeper: Program
    private let process: Substring

    /// - Parameter path: Of a file for this object.
    init(_ path: String) throws {
        let script = "echo $$ > \"$0.new\" && mv \"$0.new\" \"$0\" && exec sleep 600"
        keeper = try Program.start(["unshare", "--net", "sh", "-c", script, path])
        try eventually("the network exists") { Files.exists(path) }
        process = String(decoding: try Files.read(path), as: UTF8.self).prefix { $0.isNumber }
    }

    /// Runs a program in it that has to succeed.
    func require(_ command: [String]) throws {
        let words = ["nsenter", "--net=/proc/\(process)/ns/net", "--"] + command
        let result = try Program.start(words).wait()
        try #require(result.status == 0, "\(result)")
    }

    func end() {
        keeper.killAll()
        _ = try? keeper.wait()
    }
}
