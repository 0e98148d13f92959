import Engine
import Foundation
import Glibc
import ProviderConformance
import ProviderFolder
import Synchronization
import Testing

@Suite struct FolderProviderTests {
    private let folder: TemporaryFolder
    private let attributes = ObjectAttributes(
        modified: Timestamp(seconds: 1_600_000_000), mode: 0o640)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func connect(
        _ path: String? = nil, pieceBytes: Int = 1 << 20
    ) async throws -> FolderProvider {
        var options = FolderOptions()
        options.pieceBytes = pieceBytes
        return try await FolderProvider.connect(
            path: Array((path ?? folder.path).utf8), options: options)
    }

    private func key(_ path: String) throws -> ObjectKey {
        ObjectKey(try path.split(separator: "/").map { try #require(FileName(String($0))) })
    }

    private func write(
        _ text: String, to path: String, of provider: FolderProvider, base: BaseVersion = .absent
    ) async throws -> RemoteObject {
        try await provider.write(
            key(path), from: TextSource(text: text), attributes: attributes, base: base,
            session: UntrackedUpload())
    }

    private func read(_ path: String) throws -> String {
        try String(contentsOfFile: folder.path(path), encoding: .utf8)
    }

    // MARK: Other file systems

    @Test(.enabled(if: geteuid() == 0, "only root can mount"), arguments: [false, true])
    func `a file system mounted below is entered only if asked for`(isAsked: Bool) async throws {
        for name in ["disk", "plain"] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: false)
        }
        try folder.write("plain/file", "own")
        try #require(mount("none", folder.path("disk"), "tmpfs", 0, "size=64k") == 0)
        defer { umount2(folder.path("disk"), Int32(MNT_DETACH)) }
        try folder.write("disk/file", "foreign")
        var options = FolderOptions()
        options.entersMounts = isAsked
        let provider = try await FolderProvider.connect(
            path: Array(folder.path.utf8), options: options)

        let names = try await provider.entries(of: .root).next().objects
            .map(\.name.description).sorted()
        #expect(names == ["disk", "plain"])
        _ = try await provider.stat(key("plain/file"))
        guard isAsked else {
            let listed = await #expect(throws: ProviderError.self) {
                _ = try await provider.entries(of: key("disk")).next()
            }
            #expect(listed?.kind == .denied)
            #expect(listed?.remedy?.contains("mounts=yes") == true)
            let found = await #expect(throws: ProviderError.self) {
                try await provider.stat(key("disk/file"))
            }
            #expect(found?.kind == .denied)
            return
        }
        _ = try await provider.stat(key("disk/file"))
    }

    // MARK: What other programs see

    @Test func `a file has its bytes, mode and time, and nothing else is left`() async throws {
        let provider = try await connect()
        let first = try await write("one", to: "file", of: provider)
        _ = try await write("two", to: "file", of: provider, base: .version(#require(first.etag)))
        #expect(try folder.names == ["file"])
        #expect(try read("file") == "two")
        let found = try FileManager.default.attributesOfItem(atPath: folder.path("file"))
        #expect(found[.posixPermissions] as? Int == 0o640)
        #expect((found[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_600_000_000)
    }

    /// States keep etags: in another form, each known file would count as changed.
    @Test func `etags keep their form, also of files from before 1970`() async throws {
        let provider = try await connect()
        _ = try await write("twenty-one characters", to: "file", of: provider)
        let path = folder.path("file")
        var times = [timespec(), timespec(tv_sec: -300, tv_nsec: 31)]
        try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
        var status = stat()
        try #require(stat(path, &status) == 0)

        let etag = try #require(try await provider.stat(key("file")).etag)
        #expect(
            etag.description.hasPrefix("15.-12c.1f.\(String(status.st_ino, radix: 16))."))
        #expect(etag.description.split(separator: ".").count == 6)
    }

    @Test func `a file written by another program has another etag`() async throws {
        let provider = try await connect()
        let first = try await write("one", to: "file", of: provider)
        try folder.write("file", "two")
        let found = try await provider.stat(key("file"))
        #expect(found.etag != first.etag)
        await expect(.changed) {
            _ = try await write(
                "three", to: "file", of: provider, base: .version(#require(first.etag)))
        }
        #expect(try read("file") == "two")
    }

    /// A file is replaced by another program while the provider replaces it, many times over:
    /// whatever the other program wrote last is there, or was seen before it was replaced.
    @Test func `a version that was never seen is never replaced`() async throws {
        let provider = try await connect()
        for round in 0..<60 {
            let name = "file \(round)"
            let base = try await write("base", to: name, of: provider)
            let other = Task.detached {
                try folder.write("\(name).other", "other")
                guard rename(folder.path("\(name).other"), folder.path(name)) == 0 else {
                    throw POSIXError(.EIO)
                }
            }
            let mine = try? await write(
                "mine", to: name, of: provider, base: .version(#require(base.etag)))
            try await other.value
            // The other's rename asks for no version, so it may hide ours; ours must not hide it.
            let text = try read(name)
            #expect(
                text == "other", "round \(round), own write \(mine == nil ? "refused" : "made")")
        }
        #expect(try folder.names.allSatisfy { !$0.hasPrefix(".apus") })
    }

    // MARK: Leftovers

    @Test func `leftovers are hidden, removed when listed, and do not interfere`() async throws {
        let provider = try await connect()
        _ = try await provider.createDirectory(key("directory"), attributes: attributes)
        let leftover = "directory/.apus-new-0123456789abcdef"
        try folder.write(leftover, "half a file")
        await expect(.missing) { _ = try await provider.stat(key(leftover)) }
        await expect(.unsupported) { _ = try await write("x", to: leftover, of: provider) }
        #expect(try await provider.entries(of: key("directory")).next().objects.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: folder.path(leftover)))
        try folder.write(leftover, "half a file")
        try await provider.delete(key("directory"), kind: .directory, etag: nil)
        #expect(try folder.names.isEmpty)
    }

    @Test func `a hidden file that holds an unknown version is kept`() async throws {
        let provider = try await connect()
        let swap = ".apus-swap-1.2.3.4.5.6+1.2.3.4.5.7-0123456789abcdef"
        try folder.write(swap, "somebody's bytes")
        #expect(try await provider.entries(of: .root).next().objects.isEmpty)
        #expect(try folder.names == [swap])
    }

    @Test func `a hidden file that is locked by its writer is kept`() async throws {
        let provider = try await connect()
        let name = ".apus-new-0123456789abcdef"
        try folder.write(name, "half a file")
        let descriptor = open(folder.path(name), O_RDWR)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX) == 0)
        _ = try await provider.entries(of: .root).next()
        #expect(try folder.names == [name])
    }

    @Test func `names that only start like hidden ones are shown`() async throws {
        let provider = try await connect()
        for name in [".apus", ".apus-new-", ".apus-new-0123", ".apus-swap-a-0123456789abcdef"] {
            _ = try await write(name, to: name, of: provider)
        }
        #expect(try await provider.entries(of: .root).next().objects.count == 4)
    }

    // MARK: The folder goes away

    @Test func `a folder that is gone is unreachable, not empty`() async throws {
        let path = folder.path("cloud")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let provider = try await connect(path)
        let object = try await write("x", to: "file", of: provider)
        try FileManager.default.moveItem(atPath: path, toPath: folder.path("away"))
        for attempt in 0..<2 {
            await expect(.unreachable) { _ = try await provider.entries(of: .root).next() }
            await expect(.unreachable) { _ = try await provider.stat(key("file")) }
            await expect(.unreachable) { _ = try await provider.stat(key("nothing")) }
            await expect(.unreachable) { _ = try await provider.space() }
            await expect(.unreachable) { _ = try await write("y", to: "new", of: provider) }
            await expect(.unreachable) {
                try await provider.delete(key("file"), kind: .file, etag: object.etag)
            }
            // The second time, something else is in its place, as under an unmounted disk.
            if attempt == 0 {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: false)
            }
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: folder.path("away"), toPath: path)
        #expect(try await provider.stat(key("file")) == object)
    }

    // MARK: Links and other kinds

    @Test func `no symbolic link leads out of the folder`() async throws {
        let outside = try TemporaryFolder()
        try outside.write("secret", "secret")
        symlink(outside.path, folder.path("link"))
        symlink(outside.path("secret"), folder.path("file"))
        let provider = try await connect()
        let etag = ETag("any")
        await expect(.missing) { _ = try await provider.stat(key("link/secret")) }
        await expect(.missing) { _ = try await write("x", to: "link/new", of: provider) }
        await expect(.missing) {
            try await provider.delete(key("link/secret"), kind: .file, etag: etag)
        }
        await expect(.wrongKind) { _ = try await provider.entries(of: key("link")).next() }
        await expect(.wrongKind) {
            try await provider.read(key("file"), range: 0..<1, etag: etag, into: NoSink())
        }
        _ = try await provider.setAttributes(key("file"), to: attributes, etag: nil)
        #expect(try outside.names == ["secret"])
        let found = try FileManager.default.attributesOfItem(atPath: outside.path("secret"))
        #expect(found[.posixPermissions] as? Int != 0o640)
    }

    @Test func `pipes, sockets and devices are not shown`() async throws {
        let provider = try await connect()
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        #expect(try await provider.entries(of: .root).next().objects.isEmpty)
        await expect(.missing) { _ = try await provider.stat(key("pipe")) }
        await expect(.wrongKind) {
            try await provider.read(key("pipe"), range: 0..<1, etag: ETag("any"), into: NoSink())
        }
    }

    // MARK: Listing

    @Test func `a large directory is listed page by page, each entry once`() async throws {
        let count = 20_000
        for index in 0..<count { close(creat(folder.path("\(index)"), 0o600)) }
        let cursor = try await connect().entries(of: .root)
        var page: ListingPage
        var names = Set<FileName>()
        repeat {
            page = try await cursor.next()
            #expect(page.objects.count <= 1_000)
            for object in page.objects { #expect(names.insert(object.name).inserted) }
        } while !page.isLast
        #expect(names.count == count)
    }

    // MARK: Cancellation

    @Test func `a write that is cancelled stops at the next piece and leaves nothing`() async throws
    {
        let provider = try await connect(pieceBytes: 4_096)
        let reads = Mutex(0)
        let (started, continuation) = AsyncStream<Void>.makeStream()
        let source = SteeredSource(size: 1 << 30) {
            reads.withLock { $0 += 1 }
            continuation.yield()
        }
        let task = Task {
            try await provider.write(
                try key("file"), from: source, attributes: attributes, base: .absent,
                session: UntrackedUpload())
        }
        for await _ in started { break }
        task.cancel()
        await expect(.cancelled) { _ = try await task.value }
        #expect(reads.withLock { $0 } < 1 << 18)
        #expect(try folder.names.isEmpty)
    }

    // MARK: Helpers

    private func expect(
        _ kind: ProviderError.Kind, _ call: () async throws -> Void,
        at location: SourceLocation = #_sourceLocation
    ) async {
        do {
            try await call()
            Issue.record("it succeeded", sourceLocation: location)
        } catch {
            #expect((error as? ProviderError)?.kind == kind, "\(error)", sourceLocation: location)
        }
    }
}

private struct TextSource: ByteSource {
    let text: String

    var size: UInt64 { UInt64(text.utf8.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let rest = text.utf8.dropFirst(Int(offset)).prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

/// Zeros, with a call before each read.
private struct SteeredSource: ByteSource {
    let size: UInt64
    let onRead: @Sendable () -> Void

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        onRead()
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        return min(buffer.count, Int(size - offset))
    }
}

private struct NoSink: ByteSink {
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {}
}
