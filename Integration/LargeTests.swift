import Engine
import Glibc
import Host
import Logging
import ProviderConformance
import Testing
import Transport

@testable import ProviderFolder
@testable import ProviderRclone
@testable import ProviderS3
@testable import ProviderSupport
@testable import ProviderWebDAV

/// Sizes and numbers at which other programs have failed, on every kind of cloud.
///
/// They take minutes, so `make test` runs them only in CI and with `LARGE=1`.
@Suite(
    "What is very large", .serialized, .timeLimit(.minutes(19)),
    .enabled(if: LargeFiles.haveRoom, "it takes 16 GiB of disk"))
struct LargeTests {
    private static let world = ProviderEnvironment(
        clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))

    @Test(arguments: ProviderConformance.largeCases)
    func `is kept by a folder`(testCase: ProviderConformance.Case) async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        let folder = "\(remotes.base)/plain"
        try await run(testCase, filling: folder) {
            try await FolderProvider.connect(path: Array(folder.utf8))
        }
    }

    @Test(arguments: ProviderConformance.largeCases)
    func `is kept by Apache`(testCase: ProviderConformance.Case) async throws {
        try await WebDAVServer.with(.apache) { server in
            try await run(testCase, filling: server.folder) {
                try await WebDAVProvider.connect(to: server.source, world: Self.world)
            }
        }
    }

    @Test(arguments: ProviderConformance.largeCases)
    func `is kept by rclone`(testCase: ProviderConformance.Case) async throws {
        let remotes = try RcloneRemotes()
        defer { remotes.remove() }
        try await run(testCase, filling: "\(remotes.base)/plain") {
            try await RcloneProvider.connect(
                "plain:", world: remotes.world, environment: remotes.environment)
        }
    }

    @Test(arguments: ProviderConformance.largeCases)
    func `is kept by SeaweedFS`(testCase: ProviderConformance.Case) async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            try await run(testCase, filling: nil) {
                try await S3Provider.connect(
                    to: store.source("p"), environment: store.environment, world: Self.world)
            }
        }
    }

    /// - Parameter folder: Where the store keeps its files, if it is one that just does that.
    private func run(
        _ testCase: ProviderConformance.Case, filling folder: String?,
        _ connect: @escaping @Sendable () async throws -> any Provider
    ) async throws {
        var options = ConformanceOptions()
        // Elsewhere each name takes a request, and a test may take 20 minutes.
        options.entriesOfLargeDirectory = folder == nil ? 20_000 : 100_000
        if let folder {
            options.fillDirectory = { directory, names in
                for name in names {
                    try Files.write([], to: "\(folder)/\(directory)/\(name)")
                }
            }
        }
        try await ProviderConformance(options: options, makeProvider: connect).run(testCase)
    }
}

private enum LargeFiles {
    static let haveRoom: Bool = {
        var room = statvfs()
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        guard statvfs(folder, &room) == 0 else { return false }
        return UInt64(room.f_bavail) * UInt64(room.f_frsize) > 16 << 30
    }()
}
