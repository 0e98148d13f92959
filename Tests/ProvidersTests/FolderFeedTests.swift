import Engine
import Foundation
import Glibc
import SystemCalls
import Testing

@testable import ProviderFolder

/// Changes by other programs in a folder; the suite of ``ProviderConformance`` has our own changes.
@Suite struct FolderFeedTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["a", "a/b", "a/b/c"] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: false)
        }
        try folder.write("a/b/c/file", "old")
    }

    private func connect(reportsChanges: Bool = true) async throws -> FolderProvider {
        var options = FolderOptions()
        options.reportsChanges = reportsChanges
        return try await FolderProvider.connect(path: Array(folder.path.utf8), options: options)
    }

    private func key(_ path: String) throws -> ObjectKey {
        ObjectKey(try path.split(separator: "/").map { try #require(FileName(String($0))) })
    }

    /// Follows a directory, makes a change, and waits until it is reported.
    private func expectReport(
        of path: String, _ provider: FolderProvider, after change: () throws -> Void
    ) async throws {
        var anchor = try await provider.changes(since: nil).anchor
        let isFollowed = try await provider.follow(key(path))
        #expect(isFollowed)
        try change()
        let key = try key(path)
        while true {
            let report = try await provider.changes(since: anchor)
            if report.directories.contains(key) { return }
            anchor = report.anchor
        }
    }

    // MARK: What is reported

    @Test(.timeLimit(.minutes(1))) func `a file that is written in place is reported`() async throws
    {
        let handle = open(folder.path("a/b/c/file"), O_WRONLY)
        defer { close(handle) }
        try await expectReport(of: "a/b/c", connect()) { #expect(write(handle, "new", 3) == 3) }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["a", "a/b", "a/b/c"])
    func `a directory that was moved with any above it is reported, and followed anew`(
        moved: String
    ) async throws {
        let provider = try await connect()
        try await expectReport(of: "a/b/c", provider) {
            #expect(rename(folder.path(moved), folder.path("moved")) == 0)
        }
        try FileManager.default.createDirectory(
            atPath: folder.path("a/b/c"), withIntermediateDirectories: true)
        try await expectReport(of: "a/b/c", provider) { try folder.write("a/b/c/new", "") }
    }

    /// Goal: a watch does not stay with a directory that was removed, and that a program keeps open.
    @Test(.timeLimit(.minutes(1)))
    func `a directory in the place of one that a program has open is reported`() async throws {
        let provider = try await connect()
        try FileManager.default.removeItem(atPath: folder.path("a/b/c/file"))
        let handle = open(folder.path("a/b/c"), O_RDONLY)
        defer { close(handle) }
        try await expectReport(of: "a/b/c", provider) {
            #expect(rmdir(folder.path("a/b/c")) == 0)
            #expect(mkdir(folder.path("a/b/c"), 0o755) == 0)
        }
        try await expectReport(of: "a/b/c", provider) { try folder.write("a/b/c/new", "") }
    }

    @Test(.timeLimit(.minutes(1))) func `the folder itself, moved away, is reported`() async throws
    {
        let provider = try await connect()
        let away = folder.path + ".away"
        try await expectReport(of: "a/b", provider) { #expect(rename(folder.path, away) == 0) }
        let failure = await #expect(throws: ProviderError.self) {
            try await provider.follow(key("a/b"))
        }
        #expect(failure?.kind == .unreachable)
        #expect(rename(away, folder.path) == 0)
        try await expectReport(of: "a/b", provider) { try folder.write("a/b/new", "") }
    }

    /// Goal: uploads that are under way, also those of other processes, cause no listing.
    @Test(.timeLimit(.minutes(1))) func `files that are being uploaded are not reported`()
        async throws
    {
        let provider = try await connect()
        let start = try await provider.changes(since: nil).anchor
        let isFollowed = try await provider.follow(key("a"))
        #expect(isFollowed)
        try folder.write("a/.apus-new-0123456789abcdef", "half")
        try await expectReport(of: "a/b", provider) { try folder.write("a/b/later", "") }
        let report = try await provider.changes(since: start)
        #expect(try report.directories == [key("a/b")])
    }

    // MARK: Limits

    @Test(.timeLimit(.minutes(1)))
    func `after lost events all directories count as changed, and can be followed anew`()
        async throws
    {
        let provider = try await connect()
        let start = try await provider.changes(since: nil).anchor
        let isFollowed = try await provider.follow(key("a/b"))
        #expect(isFollowed)
        provider.feed.note([
            Inotify.Event(watch: -1, flags: UInt32(IN_Q_OVERFLOW), name: [])
        ])
        let report = try await provider.changes(since: start)
        #expect(report.mayHaveMissed)
        try #expect(!provider.feed.isFollowed(key("a/b")))
        try await expectReport(of: "a/b", provider) { try folder.write("a/b/new", "") }
    }

    @Test func `nothing is reported if that is not wanted`() async throws {
        let provider = try await connect(reportsChanges: false)
        let failure = await #expect(throws: ProviderError.self) {
            try await provider.changes(since: nil)
        }
        #expect(failure?.kind == .unsupported)
        let isFollowed = try await provider.follow(key("a"))
        #expect(!isFollowed)
    }

    /// Goal: a file system that other machines may change is not trusted to report all changes.
    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func `a directory on a file system of another kind is not followed`() async throws {
        try #require(mount("none", folder.path("a/b"), "proc", 0, nil) == 0)
        defer { umount2(folder.path("a/b"), Int32(MNT_DETACH)) }
        var options = FolderOptions()
        options.entersMounts = true
        let provider = try await FolderProvider.connect(
            path: Array(folder.path.utf8), options: options)
        _ = try await provider.changes(since: nil)
        let isFollowed = try await provider.follow(key("a/b"))
        #expect(!isFollowed)
        let isAboveFollowed = try await provider.follow(key("a"))
        #expect(isAboveFollowed)
    }

    /// Goal: two keys of one directory do not take the watch from each other for ever.
    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func `one directory at two keys is followed at one of them`() async throws {
        try FileManager.default.createDirectory(
            atPath: folder.path("d"), withIntermediateDirectories: false)
        try #require(mount(folder.path("a/b"), folder.path("d"), nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(folder.path("d"), Int32(MNT_DETACH)) }
        var options = FolderOptions()
        options.entersMounts = true
        let provider = try await FolderProvider.connect(
            path: Array(folder.path.utf8), options: options)
        _ = try await provider.changes(since: nil)
        for (path, isFollowed) in [("a/b", true), ("d", false), ("a/b", true)] {
            let found = try await provider.follow(key(path))
            #expect(found == isFollowed, "\(path)")
        }
    }

    @Test func `watches that nothing needs any more are given back`() async throws {
        let provider = try await connect()
        _ = try await provider.changes(since: nil)
        for path in ["a/b/c", "a"] {
            let isFollowed = try await provider.follow(key(path))
            #expect(isFollowed)
        }
        #expect(provider.feed.watchCount == 4)
        provider.unfollow(try key("a/b/c"))
        #expect(provider.feed.watchCount == 2)
        provider.unfollow(try key("a"))
        #expect(provider.feed.watchCount == 0)
        _ = await #expect(throws: ProviderError.self) {
            try await provider.follow(key("a/b/missing"))
        }
        #expect(provider.feed.watchCount == 0)
    }
}
