import Engine
import Glibc
import Host
import Logging
import ProviderConformance
import ProviderSupport
import ProviderWebDAV
import Synchronization
import Testing
import Transport

/// The contract of providers, kept by real WebDAV servers.
///
/// What a server cannot do is told by the options, and why in docs/providers.md.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct WebDAVTests {
    private static func options() -> ConformanceOptions {
        var options = ConformanceOptions()
        options.entriesOfSeveralPages = 45
        options.bytesOfSeveralPieces = 1 << 20
        return options
    }

    private static let world = ProviderEnvironment(
        clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))

    private func run(
        _ testCase: ProviderConformance.Case, on kind: WebDAVServer.Kind,
        _ options: ConformanceOptions
    ) async throws {
        try await WebDAVServer.with(kind) { server in
            try await ProviderConformance(options: options) {
                // So small that what is large for the suite goes to Apache in ranges.
                try await WebDAVProvider.connect(
                    to: server.source, world: Self.world, pageEntries: 10, chunkBytes: 2 << 20)
            }.run(testCase)
        }
    }

    @Test(arguments: [WebDAVServer.Account.Scheme.basic, .digest])
    func `credentials are sent as the server wants them`(
        scheme: WebDAVServer.Account.Scheme
    ) async throws {
        let account = WebDAVServer.Account(scheme: scheme, user: "me", password: "p:\u{e9} w")
        try await WebDAVServer.with(.apache, account: account) { server in
            func connect(_ credentials: Credentials?) async throws -> WebDAVProvider {
                try await WebDAVProvider.connect(
                    to: server.source, credentials: credentials, world: Self.world)
            }
            for wrong in [nil, Credentials.password(user: "me", Secret("wrong"))] {
                let error = await #expect(throws: ProviderError.self) { try await connect(wrong) }
                #expect(error?.kind == .unauthorized)
                #expect(error.map { "\($0)" }?.contains("wrong\"") == false)
            }
            let provider = try await connect(.password(user: "me", Secret(account.password)))
            #expect(try await provider.entries(of: .root).next().objects.isEmpty)
        }
    }

    /// Apache calls the tag of what was written within the last second weak. One that then changes by
    /// itself would look like another version to whoever is reading.
    @Test(arguments: [3, 100])
    func `files that others have just written have the tag that they keep`(count: Int) async throws
    {
        try await WebDAVServer.with(.apache) { server in
            let provider = try await WebDAVProvider.connect(to: server.source, world: Self.world)
            for number in 0..<count {
                try Files.write([UInt8(number)], to: "\(server.folder)/\(number)")
            }
            let listed = try await provider.entries(of: .root).next().objects
            #expect(listed.count == count)
            for object in listed {
                #expect(try await provider.stat(ObjectKey([object.name])).etag == object.etag)
            }
        }
    }

    @Test(arguments: [WebDAVServer.Account.Scheme.basic, .digest])
    func `credentials that are refused are looked for again, once for each refusal`(
        scheme: WebDAVServer.Account.Scheme
    ) async throws {
        func account(_ password: String) -> WebDAVServer.Account {
            WebDAVServer.Account(scheme: scheme, user: "me", password: password)
        }
        func credentials(_ password: String) -> Credentials {
            .password(user: "me", Secret(password))
        }
        try await WebDAVServer.with(.apache, account: account("old")) { server in
            let written = Mutex<Credentials?>(credentials("old"))
            let searches = Mutex(0)
            let provider = try await WebDAVProvider.connect(
                to: server.source, credentials: credentials("old"),
                renewed: {
                    searches.withLock { $0 += 1 }
                    return written.withLock { $0 }
                }, world: Self.world)
            func expectRefusal(searches count: Int) async {
                let error = await #expect(throws: ProviderError.self) {
                    try await provider.stat(.root)
                }
                #expect(error?.kind == .unauthorized)
                #expect(searches.withLock { $0 } == count)
            }
            #expect(try await provider.stat(.root).kind == .directory)
            try server.change(to: account("new"))
            await expectRefusal(searches: 0)
            await expectRefusal(searches: 1)
            // As while somebody writes the file.
            written.withLock { $0 = nil }
            await expectRefusal(searches: 2)
            written.withLock { $0 = credentials("new") }
            for _ in 0..<2 { #expect(try await provider.stat(.root).kind == .directory) }
            #expect(searches.withLock { $0 } == 3)
        }
    }

    @Test func `somebody's lock on a free name of Apache's is no file`() async throws {
        try await WebDAVServer.with(.apache) { server in
            let lock =
                "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>"
                + "<D:locktype><D:write/></D:locktype></D:lockinfo>"
            let answer = try Program.require(
                "curl", "-s", "-i", "-X", "LOCK", "-H", "Content-Type: application/xml", "-d", lock,
                "\(server.url)/free")
            #expect(answer.contains("opaquelocktoken:"))
            let provider = try await WebDAVProvider.connect(to: server.source, world: Self.world)
            #expect(try await provider.entries(of: .root).next().objects.isEmpty)
            let error = await #expect(throws: ProviderError.self) {
                try await provider.stat(ObjectKey([try #require(FileName("free"))]))
            }
            #expect(error?.kind == .missing)
        }
    }

    @Test func `of two files with one length and time, one moved on the server is another version`()
        async throws
    {
        try await WebDAVServer.with(.apache) { server in
            for (name, byte) in [("a", 1), ("b", 2)] as [(String, UInt8)] {
                let path = "\(server.folder)/\(name)"
                try Files.write([UInt8](repeating: byte, count: 100), to: path)
                try Files.setMode(0o644, of: path)
                try Program.require("touch", "-d", "2020-01-01", path)
            }
            let provider = try await WebDAVProvider.connect(to: server.source, world: Self.world)
            let key = ObjectKey([try #require(FileName("a"))])
            let old = try #require(try await provider.stat(key).etag)
            // The server's times of renames are in seconds.
            let changed = time(nil)
            try eventually("the next second") { time(nil) > changed }
            try Files.rename("\(server.folder)/b", to: "\(server.folder)/a")
            let new = try #require(try await provider.stat(key).etag)
            #expect(new != old)
            let listed = try await provider.entries(of: .root).next().objects
            #expect(listed.map(\.etag) == [new])
            let error = await #expect(throws: ProviderError.self) {
                try await provider.delete(key, kind: .file, etag: old)
            }
            #expect(error?.kind == .changed)
            try await provider.delete(key, kind: .file, etag: new)
        }
    }

    @Test(arguments: ProviderConformance.cases)
    func `Apache keeps the contract`(testCase: ProviderConformance.Case) async throws {
        var options = Self.options()
        options.pathBytesMax = 3_000
        try await run(testCase, on: .apache, options)
    }

    @Test(arguments: ProviderConformance.cases)
    func `rclone keeps the contract`(testCase: ProviderConformance.Case) async throws {
        var options = Self.options()
        options.pathBytesMax = 3_000
        options.keepsAnyBytesInNames = false
        options.tellsNormalFormsApart = false
        options.replacesAtOnce = false
        try await run(testCase, on: .rclone, options)
    }

    @Test(
        .enabled(
            if: WebDAVServer.hasNginx,
            "there is no nginx with its module: scripts/setup unpacks one"),
        arguments: ProviderConformance.cases)
    func `nginx keeps the contract`(testCase: ProviderConformance.Case) async throws {
        var options = Self.options()
        options.pathBytesMax = 3_000
        options.keepsAnyBytesInNames = false
        options.refusedNames = ["...", ".hidden"]
        options.replacesAtOnce = false
        // Its versions are told by length and a time in seconds.
        options.tellsMovedVersions = false
        try await run(testCase, on: .nginx, options)
    }
}
