import Engine
import Foundation
import Simulation
import Synchronization
import SystemCalls
import Testing

@testable import Host

/// Goal: any number of files can be open with few descriptors, without any visible difference.
@Suite struct DescriptorTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func disk(descriptorsMax: Int) throws -> PosixDisk {
        try PosixDisk(directory: directory.path, descriptorsMax: descriptorsMax)
    }

    private static func path(_ number: Int) -> DiskPath { DiskPath("content/\(number)") }

    /// How many descriptors of this process lead to files below the directory's `content`.
    private var descriptorCount: Int {
        let name = URL(filePath: directory.path).lastPathComponent
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.count { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(number)")
            return target?.contains("/\(name)/content/") ?? false
        }
    }

    @Test func `more files than descriptors keep their bytes`() throws {
        let disk = try disk(descriptorsMax: 3)
        let files = try (0..<40).map { try disk.open(Self.path($0)) }
        for (number, file) in files.enumerated() { try file.write([UInt8(number)], at: 0) }
        for (number, file) in files.enumerated().reversed() {
            #expect(try file.read(2, at: 0) == [UInt8(number)])
            try file.write([1], at: 1)
            try file.synchronize()
        }
        disk.awaitIdleFiles()
        #expect(descriptorCount == 3)
        #expect(try files.map { try $0.status().size } == Array(repeating: 2, count: 40))
    }

    @Test func `a file closes with its last user`() throws {
        let disk = try disk(descriptorsMax: 8)
        var files = try [1, 1, 2].map { try disk.open(Self.path($0)) }
        #expect(descriptorCount == 2)
        files.removeFirst()
        #expect(descriptorCount == 2)
        files.removeAll()
        #expect(descriptorCount == 0)
    }

    @Test func `a descriptor in use stays open`() throws {
        let disk = try disk(descriptorsMax: 1)
        let file = try disk.open(Self.path(0))
        try file.write([7], at: 0)
        let descriptor = try #require(try file.openDescriptor())
        let others = try (1..<20).map { try disk.open(Self.path($0)) }
        for other in others { try other.write([1], at: 0) }
        var byte: UInt8 = 0
        #expect(pread(descriptor.rawValue, &byte, 1, 0) == 1)
        #expect(byte == 7)
    }

    @Test func `an idle file that is removed, moved or replaced keeps its bytes`() throws {
        let disk = try disk(descriptorsMax: 1)
        let files = try (0..<4).map { try disk.open(Self.path($0)) }
        for (number, file) in files.enumerated() { try file.write([UInt8(number)], at: 0) }
        try disk.remove(Self.path(0))
        try disk.move(Self.path(1), to: Self.path(2))
        _ = try disk.clone(files[0], to: Self.path(3))
        let new = try disk.open(Self.path(0))
        for _ in 0..<2 {
            for (number, file) in files.enumerated() {
                #expect(try file.read(1, at: 0) == [UInt8(number)])
                try file.synchronize()
            }
            #expect(try new.status().size == 0)
        }
        #expect(try disk.open(Self.path(2)).read(1, at: 0) == [1])
        #expect(try disk.open(Self.path(3)).read(1, at: 0) == [0])
    }

    @Test func `a file that something else has replaced is not mistaken for the open one`() throws {
        let disk = try disk(descriptorsMax: 1)
        let file = try disk.open(Self.path(0))
        let other = try disk.open(Self.path(1))
        try other.write([1], at: 0)
        let url = URL(filePath: "\(directory.path)/content/0")
        try Data([9]).write(to: url, options: .atomic)
        #expect(throws: DiskError.self) { _ = try file.read(1, at: 0) }
    }

    /// Goal: no `fsync` succeeds after another descriptor of the file has met the failure.
    ///
    /// Method: the `fsync` of a pipe fails; it stands for the descriptor of a written file that is
    /// closed because another file needs one.
    @Test func `a failed fsync is reported to all who had the file open`() throws {
        let root = try Descriptor(directory: directory.path)
        let inodes = OpenInodes(root: root, capacity: 1)
        func add(_ name: String) throws -> OpenInode {
            let descriptor = try Descriptor(
                opening: name, in: root, flags: O_RDWR | O_CREAT, mode: 0o600)
            return try inodes.insert(descriptor, at: Location(DiskPath(name)))
        }
        let inode = try add("a")
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        close(ends[1])
        inode.state.withLock { state in
            state.descriptor = Descriptor(adopting: ends[0])
            state.isUnsynchronized = true
        }
        _ = try add("b")
        inodes.closer.awaitEnd()

        #expect(inode.state.withLock(\.failures) == 1)
        let whole = try inodes.descriptor(of: inode)
        #expect(throws: SystemError.self) { try inode.synchronize(whole, after: 0) }
        #expect(throws: SystemError.self) { try inode.synchronize(whole, after: 0) }
        // A later user sees no failure, as with a descriptor of its own.
        try inode.synchronize(whole, after: 1)
    }

    /// A disk whose `fsync` of one idle file does not end before ``end()``.
    private final class HangingDisk: Sendable {
        let disk: PosixDisk
        private let hang = Monitor((isEnded: false, count: 0))

        init(directory: String, descriptorsMax: Int) throws {
            let hang = hang
            disk = try PosixDisk(
                directory: directory, descriptorsMax: descriptorsMax,
                willSynchronize: { path in
                    guard path == DescriptorTests.path(0).description else { return }
                    hang.update { $0.count += 1 }
                    hang.wait { $0.isEnded ? () : nil }
                })
        }

        func awaitHang() { hang.wait { $0.count > 0 ? () : nil } }

        func end() { hang.update { $0.isEnded = true } }
    }

    /// Method: if an open waited for the `fsync`, it would wait for ever.
    @Test(.timeLimit(.minutes(1)))
    func `an open does not wait for the fsync of another file`() throws {
        let hanging = try HangingDisk(directory: directory.path, descriptorsMax: 2)
        let disk = hanging.disk
        let first = try disk.open(Self.path(0))
        try first.write([7], at: 0)
        let others = try (1..<10).map { try disk.open(Self.path($0)) }
        hanging.awaitHang()
        for (number, other) in others.enumerated() {
            try other.write([UInt8(number)], at: 0)
            #expect(try other.read(1, at: 0) == [UInt8(number)])
        }
        // Nor does the file itself.
        #expect(try first.read(1, at: 0) == [7])
        try first.write([8], at: 0)
        hanging.end()
        try first.synchronize()
        disk.awaitIdleFiles()
        #expect(try first.read(1, at: 0) == [8])
        _ = try others.map { try $0.status() }
        disk.awaitIdleFiles()
        #expect(descriptorCount <= 3, "none is open for longer than necessary")
    }

    @Test(.timeLimit(.minutes(1)))
    func `a file that is used while its descriptor is about to be closed keeps it`() throws {
        let hanging = try HangingDisk(directory: directory.path, descriptorsMax: 1)
        let first = try hanging.disk.open(Self.path(0))
        try first.write([7], at: 0)
        let before = try #require(try first.openDescriptor()).rawValue
        let second = try hanging.disk.open(Self.path(1))
        _ = try second.status()
        hanging.awaitHang()
        let after = try #require(try first.openDescriptor())
        #expect(after.rawValue == before)
        hanging.end()
        hanging.disk.awaitIdleFiles()
        #expect(try first.read(1, at: 0) == [7])
    }

    @Test func `threads that use, move and remove many files meet their own bytes`() async throws {
        let disk = try disk(descriptorsMax: 4)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    do {
                        try Self.exercise(disk, thread)
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        disk.awaitIdleFiles()
        #expect(descriptorCount == 0)
    }

    private static func exercise(_ disk: PosixDisk, _ thread: Int) throws {
        for round in 0..<60 {
            let files = try (0..<6).map { try disk.open(path(thread * 100 + $0)) }
            for (number, file) in files.enumerated() {
                try file.write([UInt8(thread), UInt8(number), UInt8(round)], at: 0)
            }
            try disk.move(path(thread * 100), to: path(thread * 100 + 1))
            try disk.remove(path(thread * 100 + 2))
            for (number, file) in files.enumerated() {
                #expect(
                    try file.read(3, at: 0) == [UInt8(thread), UInt8(number), UInt8(round)])
            }
        }
    }

    @Test func `the limit of descriptors is raised to the hard one`() {
        var limit = rlimit()
        getrlimit(.init(RLIMIT_NOFILE.rawValue), &limit)
        #expect(DescriptorLimit.raise() == limit.rlim_max)
    }
}
