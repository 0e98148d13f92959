import Foundation
import Simulation
import Synchronization
import Testing

@testable import Engine

/// A snapshot on a disk that cannot share bytes (I3).
@Suite struct FrozenContentTests {
    private static let before = [UInt8](repeating: 1, count: 100)

    private let disk = SimulatedDisk(seed: 1, clock: SimulatedClock(), sharesBytes: false)
    private let file: HookedFile
    private let frozen: FrozenContent

    init() throws {
        file = HookedFile(try disk.open(DiskPath("content")))
        try file.write(Self.before, at: 0)
        frozen = FrozenContent(
            file, size: 100, on: disk, copyPath: DiskPath("frozen/1-1"), pieceBytes: 10)
    }

    @Test func `copies the pieces that are about to change, and no others`() async throws {
        try frozen.share()
        #expect(frozen.bytesAtRisk(in: 25..<41) == 16)
        try await frozen.preserve(25..<41)
        #expect(frozen.bytesAtRisk(in: 20..<50) == 0)
        #expect(frozen.bytesAtRisk(in: 0..<1_000) == 70)
        try file.write([UInt8](repeating: 2, count: 30), at: 20)
        #expect(try bytes(of: frozen) == Self.before)
    }

    @Test func `needs no copy of bytes beyond its end`() async throws {
        #expect(frozen.bytesAtRisk(in: 100..<200) == 0)
        try await frozen.preserve(100..<200)
        #expect(try disk.files(below: DiskPath("frozen")) == [])
    }

    @Test func `repeats a read that a change overtook`() async throws {
        try await frozen.preserve(0..<10)
        let bytes = try await reading {
            try await frozen.preserve(15..<35)
            try file.write([UInt8](repeating: 2, count: 30), at: 10)
        }
        #expect(try bytes.get() == Self.before)
    }

    @Test func `fails a read that an abandonment overtook`() async throws {
        let bytes = try await reading {
            frozen.end(DiskError(.failed, attempt: "read", reason: "abandoned"))
            try file.write([UInt8](repeating: 2, count: 30), at: 10)
        }
        #expect(throws: DiskError.self) { try bytes.get() }
    }

    @Test func `leaves no copy behind`() async throws {
        try await frozen.preserve(0..<100)
        #expect(try disk.files(below: DiskPath("frozen")) == [DiskPath("frozen/1-1")])
        frozen.end(DiskError(.failed, attempt: "read", reason: "its upload has ended"))
        try await frozen.preserve(0..<100)
        #expect(try disk.files(below: DiskPath("frozen")) == [])
    }

    @Test func `does not show an old file through the holes`() async throws {
        let old = try disk.open(DiskPath("frozen/1-1"))
        try old.write([UInt8](repeating: 9, count: 200), at: 0)
        try await frozen.preserve(0..<10)
        #expect(try bytes(of: frozen) == Self.before)
        #expect(try disk.open(DiskPath("frozen/1-1")).read(200, at: 10).allSatisfy { $0 == 0 })
    }

    @Test func `is abandoned if its copy fails, and only then`() async throws {
        disk.setFaults(DiskFaultPlan(.full, after: 3, count: 1))
        await #expect(throws: DiskError.self) { try await frozen.preserve(0..<10) }
        #expect(frozen.bytesAtRisk(in: 0..<100) == 0)
        #expect(throws: DiskError.self) { try bytes(of: frozen) }
        #expect(try disk.files(below: DiskPath("frozen")) == [])
    }

    /// Reads the snapshot on a thread of its own, and runs `body` in the middle of the first read
    /// of the file.
    private func reading(
        meanwhile body: () async throws -> Void
    ) async throws -> Result<[UInt8], any Error> {
        let (reached, goOn) = (Promise<Void, Never>(), DispatchSemaphore(value: 0))
        let read = Promise<[UInt8], any Error>()
        file.hook.withLock { hook in
            hook = {
                reached.fulfil(.success(()))
                goOn.wait()
            }
        }
        Thread.detachNewThread { read.fulfil(Result { try self.bytes(of: self.frozen) }) }
        _ = await reached.wait()
        do {
            try await body()
        } catch {
            goOn.signal()
            throw error
        }
        goOn.signal()
        return await read.wait()
    }

    private func bytes(of frozen: FrozenContent) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: 200) { buffer, filled in
            filled = try frozen.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
    }
}

/// A file that calls a hook once, in the middle of a read.
private final class HookedFile: ForwardingFile {
    let hook = Mutex<(@Sendable () -> Void)?>(nil)
    let file: any DiskFile

    init(_ file: any DiskFile) { self.file = file }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(DiskError) -> Int {
        let half = buffer.count / 2
        let first = try file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<half]), at: offset)
        let hook = hook.withLock { $0.take() }
        hook?()
        return try first
            + file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[half...]),
                at: offset + UInt64(half))
    }
}
