import Glibc
import Testing

extension MountedTests {
    /// Certificates and proxies, as somebody who mounts meets them.
    @Suite(.timeLimit(.minutes(2)))
    struct `Certificates and proxies` {
        private func options(
            _ server: WebDAVServer, _ environment: [String: String] = [:]
        ) -> MountedFolder.Options {
            var options = MountedFolder.Options()
            options.otherSource = server.source
            options.mount = ["--ca-file", server.authority.file]
            // What this machine has set is not part of the test.
            let unset = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            options.environment = Dictionary(uniqueKeysWithValues: unset.map { ($0, "") })
                .merging(["no_proxy": "", "NO_PROXY": ""]) { $1 }
                .merging(environment) { $1 }
            return options
        }

        private func roundTrip(_ folder: MountedFolder, _ server: WebDAVServer) throws {
            let content = SeededRandom.bytes(2_000_000, seed: 3)
            try Files.write(content, to: folder.local("file"))
            try folder.sync()
            #expect(try Files.holds(content, at: "\(server.folder)/file"))
            try folder.evict("file")
            #expect(try Files.holds(content, at: folder.local("file")))
        }

        @Test func `an authority of one's own is trusted when it is named, and only then`()
            async throws
        {
            try await WebDAVServer.with(.secureApache) { server in
                try MountedFolder.with(options(server)) { try roundTrip($0, server) }
                let folder = try MountedFolder()
                defer { folder.remove() }
                try Apus.expectRefusal(
                    "mount", server.source, folder.point, "--state-dir", folder.state,
                    naming: "certificate", "--ca-file")
                try Apus.expectRefusal(
                    "mount", server.source, folder.point, "--state-dir", folder.state, "--ca-file",
                    "\(folder.base)/none.pem", naming: "none.pem")
            }
        }

        @Test func `HTTPS goes through the proxy's tunnel`() async throws {
            try await WebDAVServer.with(.secureApache) { server in
                try await ProxyServer.with { proxy in
                    let options = options(server, ["https_proxy": proxy.url])
                    try MountedFolder.with(options) { try roundTrip($0, server) }
                    try eventually("the proxy notes its tunnels") { !proxy.requests.isEmpty }
                    let tunnel = "CONNECT 127.0.0.1:\(server.port) "
                    #expect(proxy.requests.allSatisfy { $0.hasPrefix(tunnel) })
                    try eventually("the server notes the upload") {
                        server.requests.contains { $0.contains(" PUT ") }
                    }
                }
            }
        }

        @Test func `HTTP goes through the proxy`() async throws {
            try await WebDAVServer.with(.apache) { server in
                try await ProxyServer.with { proxy in
                    var options = options(server, ["http_proxy": proxy.url])
                    options.mount = []
                    try MountedFolder.with(options) { try roundTrip($0, server) }
                    let put = "PUT \(server.url)/"
                    try eventually("the proxy notes the upload") {
                        proxy.requests.contains { $0.hasPrefix(put) }
                    }
                }
            }
        }

        @Test func `hosts that need no proxy are asked without`() async throws {
            try await WebDAVServer.with(.secureApache) { server in
                try await ProxyServer.with { proxy in
                    let options = options(
                        server,
                        [
                            "https_proxy": proxy.url, "http_proxy": proxy.url,
                            "no_proxy": "example.org,127.0.0.1",
                        ])
                    try MountedFolder.with(options) { try roundTrip($0, server) }
                    #expect(proxy.requests == [])
                }
            }
        }

        @Test func `a proxy that is not there is named, and its password is not`() async throws {
            try await WebDAVServer.with(.secureApache) { server in
                let folder = try MountedFolder(options(server))
                defer { folder.remove() }
                let closed = try LocalSocket.freePorts(1)[0]
                let result = try Apus.run(
                    ["mount", server.source, folder.point, "--state-dir", folder.state],
                    environment: ["https_proxy": "http://me:secret@127.0.0.1:\(closed)"])
                #expect(result.status == 1)
                #expect(result.errors.contains("127.0.0.1"), "\(result)")
                let log = folder.logTail
                #expect(!result.errors.contains("secret") && !log.contains("secret"))
                #expect(server.requests == [])
            }
        }
    }
}
