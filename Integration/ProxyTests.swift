import Glibc
import TestBytes
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
            let content = TestBytes.random(2_000_000, seed: 3)
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
                for words in ["proxy http://127.0.0.1:\(closed) ", "(https_proxy)", "no_proxy"] {
                    #expect(result.errors.contains(words), "\(result)")
                }
                let log = folder.logTail
                #expect(!result.errors.contains("secret") && !log.contains("secret"))
                #expect(server.requests == [])
            }
        }

        @Test func `a server that speaks no TLS from 1.2 on is told from one that is not there`()
            throws
        {
            let folder = try MountedFolder()
            defer { folder.remove() }
            let authority = CertificateAuthority(directory: folder.base)
            try authority.make()
            let port = try LocalSocket.freePorts(1)[0]
            let server = try Program.start(
                [
                    "openssl", "s_server", "-accept", "\(port)", "-tls1_1", "-cipher",
                    "ALL:@SECLEVEL=0", "-cert", authority.serverFile, "-key", authority.serverKey,
                    "-quiet",
                ])
            defer {
                server.killAll()
                _ = try? server.wait()
            }
            try eventually("it listens", within: .seconds(30)) { LocalSocket.answers(port) }
            try Apus.expectRefusal(
                "mount", "webdav+https://127.0.0.1:\(port)/", folder.point, "--state-dir",
                folder.state, "--ca-file", authority.file, naming: "not support TLS 1.2",
                "enable TLS 1.2")
        }

        @Test func `a path that is a file, or nothing, says so and what to do`() async throws {
            for kind in WebDAVServer.kinds {
                try await WebDAVServer.with(kind) { server in
                    let folder = try MountedFolder()
                    defer { folder.remove() }
                    try server.put([1], at: "file")
                    try Apus.expectRefusal(
                        "mount", "\(server.source)/file", folder.point, "--state-dir",
                        folder.state, naming: "\"file\" is a file", "leave its name out")
                    try Apus.expectRefusal(
                        "mount", "\(server.source)/none", folder.point, "--state-dir",
                        folder.state, naming: "nothing at this path", "create the directory")
                }
            }
        }

        @Test func `credentials that are refused are named with their place, and never shown`()
            async throws
        {
            let account = WebDAVServer.Account(scheme: .basic, user: "me", password: "right")
            try await WebDAVServer.with(.apache, account: account) { server in
                let folder = try MountedFolder()
                defer { folder.remove() }
                func errors(_ environment: [String: String]) throws -> String {
                    let result = try Apus.run(
                        ["mount", server.source, folder.point, "--state-dir", folder.state],
                        environment: environment.merging(["HOME": folder.base]) { first, _ in first
                        })
                    #expect(result.status == 1 && result.errorLines.count == 1, "\(result)")
                    #expect(!result.errors.contains("wrong") && !folder.logTail.contains("wrong"))
                    return result.errors
                }
                let bearer = try errors(["APUS_WEBDAV_BEARER": "wrong"])
                #expect(bearer.contains("bearer token was refused"), "\(bearer)")
                #expect(bearer.contains("correct APUS_WEBDAV_BEARER"), "\(bearer)")
                #expect(bearer.contains("accepts Basic"), "\(bearer)")
                let password = try errors([
                    "APUS_WEBDAV_USERNAME": "me", "APUS_WEBDAV_PASSWORD": "wrong",
                ])
                #expect(password.contains("correct APUS_WEBDAV_USERNAME"), "\(password)")
                let none = try errors([:])
                #expect(none.contains("none were found"), "\(none)")
            }
        }
    }
}
