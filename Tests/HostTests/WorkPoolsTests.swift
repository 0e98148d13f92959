import Engine
import Foundation
import Glibc
import Logging
import Simulation
import Synchronization
import Testing

@testable import Host

/// Goal: work that keeps a disk or a core busy leaves the threads of other work free.
///
/// Method: a disk notes the threads that its calls are made on. A provider that does not answer keeps an
/// upload under way, so that a change of the file needs a copy.
@Suite(.timeLimit(.minutes(2))) struct WorkPoolsTests {
    private static let caller = Caller(userID: 0, groupID: 0)

    @Test func `content is hashed, copied and synchronised on threads of its own`() async throws {
        let directory = try TemporaryDirectory()
        let (threads, clock) = (CallThreads(), SystemClock())
        let content = try ThreadPoolExecutor(name: "content", threadCount: 1)
        let upkeep = try ThreadPoolExecutor(name: "upkeep", threadCount: 1)
        let transfers = try ThreadPoolExecutor(name: "transfers", threadCount: 1)
        let provider = SimulatedProvider(
            clock: clock, random: SeededGenerator(seed: 1), settings: Self.settings)
        let database = "\(directory.path)/state.db"
        let engine = try Engine(
            configuration: EngineConfiguration(
                source: "test", owner: Self.caller, hostName: "host", controlSocket: ""),
            store: try Store(path: database, log: PosixDatabaseLog(ofDatabaseAt: database)),
            disk: NotingDisk(
                disk: try PosixDisk(directory: directory.path, sharesBytes: false),
                threads: threads),
            clock: clock, provider: provider,
            pools: WorkPools(content: content, upkeep: upkeep), logger: Logger(label: "test"),
            random: { 0 })
        let work = Task(executorPreference: transfers) { await engine.run() }
        let inode = try await engine.retrying { () throws(Blocked) in
            try engine.createFile(
                FileName("file")!, in: .root, mode: 0o600, caller: Self.caller)
        }.inode
        provider.stand(true, attempts: "write")
        try await Self.write(1, to: inode, engine)
        engine.release(inode, access: .write)
        // A snapshot for an upload is hashed before it is sent.
        await threads.wait(for: .read)
        try await engine.retrying { () throws(Blocked) in
            try engine.open(inode, access: .write, truncating: false)
        }
        try await Self.write(2, to: inode, engine)
        engine.release(inode, access: .write)
        await threads.wait(for: .synchronize)
        // The last pass, after the end of all work, is on the caller's thread.
        let synchronizing = threads.names(of: .synchronize)
        provider.stand(false)
        work.cancel()
        await work.value
        await Task.detached { for pool in [content, upkeep, transfers] { pool.shutDown() } }.value
        #expect(threads.names(of: .read).contains("content-0"))
        #expect(threads.names(of: .copy) == ["content-0"])
        #expect(synchronizing.contains("upkeep-0"))
        #expect(!synchronizing.contains("transfers-0"))
    }

    private static var settings: SimulatedProviderSettings {
        var settings = SimulatedProviderSettings()
        // So that an upload whose answer was lost is recognised by the digest of its content.
        settings.storesAttributesAtOnce = false
        return settings
    }

    private static func write(
        _ byte: UInt8, to inode: InodeNumber, _ engine: Engine
    ) async throws {
        let bytes = [UInt8](repeating: byte, count: 1 << 20)
        try await engine.retrying { () throws(Blocked) in
            try bytes.withUnsafeBytes { bytes in
                Result { () throws(Blocked) in try engine.write(inode, bytes, at: 0) }
            }.get()
        }
    }
}

/// The names of the threads that calls were made on.
private final class CallThreads: Sendable {
    enum Call { case read, copy, synchronize }

    private let names = Mutex<[Call: Set<String>]>([:])
    private let (changes, change) = AsyncStream<Void>.makeStream(
        bufferingPolicy: .bufferingNewest(1))

    func note(_ call: Call) {
        names.withLock { _ = $0[call, default: []].insert(ThreadPoolExecutorTests.threadName()) }
        change.yield()
    }

    func names(of call: Call) -> Set<String> { names.withLock { $0[call] ?? [] } }

    func wait(for call: Call) async {
        for await _ in changes where !names(of: call).isEmpty { return }
    }
}

private struct NotingDisk: Disk {
    let disk: PosixDisk
    let threads: CallThreads

    var sharesBytes: Bool { disk.sharesBytes }

    func open(_ path: DiskPath) throws(DiskError) -> any DiskFile {
        NotingFile(try disk.open(path), threads)
    }

    func clone(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> any DiskFile {
        threads.note(.copy)
        return NotingFile(try disk.clone(Self.noted(file), to: path), threads)
    }

    func share(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> (any DiskFile)? {
        try disk.share(Self.noted(file), to: path).map { NotingFile($0, threads) }
    }

    func copy(
        _ range: Range<UInt64>, of file: any DiskFile, to target: any DiskFile
    ) throws(DiskError) {
        threads.note(.copy)
        try disk.copy(range, of: Self.noted(file), to: Self.noted(target))
    }

    func synchronizeAll() throws(DiskError) {
        threads.note(.synchronize)
        try disk.synchronizeAll()
    }

    func move(_ path: DiskPath, to destination: DiskPath) throws(DiskError) {
        try disk.move(path, to: destination)
    }

    func remove(_ path: DiskPath) throws(DiskError) { try disk.remove(path) }

    func files(below directory: DiskPath) throws(DiskError) -> [DiskPath] {
        try disk.files(below: directory)
    }

    func contents(
        of directory: DiskPath
    ) throws(DiskError) -> (files: [DiskPath], directories: [DiskPath]) {
        try disk.contents(of: directory)
    }

    func status(of path: DiskPath) throws(DiskError) -> DiskFileStatus? {
        try disk.status(of: path)
    }

    func highestNumber(
        below directory: DiskPath, limit: UInt64
    ) throws(DiskError) -> UInt64? {
        try disk.highestNumber(below: directory, limit: limit)
    }

    func space() throws(DiskError) -> StorageSpace { try disk.space() }

    private static func noted(_ file: any DiskFile) -> any DiskFile {
        (file as? NotingFile)?.file ?? file
    }
}

private final class NotingFile: DiskFile {
    let file: any DiskFile
    private let threads: CallThreads

    init(_ file: any DiskFile, _ threads: CallThreads) {
        (self.file, self.threads) = (file, threads)
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(DiskError) -> Int {
        threads.note(.read)
        return try file.read(into: buffer, at: offset)
    }

    func synchronize() throws(DiskError) {
        threads.note(.synchronize)
        try file.synchronize()
    }

    func requireStored() throws(DiskError) {
        threads.note(.synchronize)
        try file.requireStored()
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
        try file.write(bytes, at: offset)
    }

    func truncate(to size: UInt64) throws(DiskError) { try file.truncate(to: size) }
    func punchHole(_ range: Range<UInt64>) throws(DiskError) { try file.punchHole(range) }
    func status() throws(DiskError) -> DiskFileStatus { try file.status() }
    func setModified(_ time: Timestamp) throws(DiskError) { try file.setModified(time) }

    func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError) {
        try file.setExtendedAttributes(attributes)
    }

    func openDescriptor() throws(DiskError) -> (any OpenDescriptor)? { try file.openDescriptor() }
}
