import CLinux
import Engine
import Foundation
import Simulation
import TestBytes
import Testing

@testable import Host

/// Behaviour of a real disk only; the behaviour of every ``Disk`` is tested in `DiskConformance`.
@Suite struct PosixDiskTests {
    static let ways = [
        SparseCopy(), SparseCopy(usesKernel: false),
        SparseCopy(usesKernel: false, findsHoles: false),
    ]

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `directories get mode 0700 and files 0600`() throws {
        let file = try PosixDisk(directory: directory.path).open(DiskPath("content/00/2a"))
        _ = file
        #expect(try directory.mode(of: "content") == 0o700)
        #expect(try directory.mode(of: "content/00") == 0o700)
        #expect(try directory.mode(of: "content/00/2a") == 0o600)
    }

    /// Goal: who reads a file while it is being fetched does not fill memory with zeros.
    @Test func `nothing is read ahead in a file with holes`() throws {
        let file = try PosixDisk(directory: directory.path).open(DiskPath("content/00/2a"))
        let size = 16 << 20
        try file.truncate(to: UInt64(size))
        file.expectHoles(true)
        for offset in stride(from: 0, to: 1 << 20, by: 4_096) {
            _ = try file.read(4_096, at: UInt64(offset))
        }
        let descriptor = open("\(directory.path)/content/00/2a", O_RDONLY)
        defer { close(descriptor) }
        let start = try #require(mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0))
        defer { munmap(start, size) }
        var pages = [UInt8](repeating: 0, count: size / Int(getpagesize()))
        #expect(mincore(start, size, &pages) == 0)
        #expect(pages.count { $0 & 1 == 1 } <= (1 << 20) / Int(getpagesize()))
    }

    @Test func `holes are told from zeros that take space`() throws {
        let file = try PosixDisk(directory: directory.path).open(DiskPath("content/00/2a"))
        #expect(try file.isHole(0..<65_536), "there is nothing at all")
        try file.truncate(to: 4 << 20)
        try file.write([UInt8](repeating: 0, count: 65_536), at: 1 << 20)
        #expect(try file.isHole(0..<1 << 20))
        #expect(try !file.isHole(0..<1 << 20 + 1))
        #expect(try !file.isHole(1 << 20..<1 << 20 + 65_536))
        #expect(try file.isHole(2 << 20..<4 << 20), "nothing follows")
    }

    @Test func `a file that is open or mapped elsewhere is known`() throws {
        let file = try PosixDisk(directory: directory.path).open(DiskPath("content/00/2a"))
        try file.truncate(to: 4_096)
        #expect(file.isOpenElsewhere() == false)
        let descriptor = open("\(directory.path)/content/00/2a", O_RDONLY)
        #expect(file.isOpenElsewhere() == true)
        let start = try #require(mmap(nil, 4_096, PROT_READ, MAP_SHARED, descriptor, 0))
        close(descriptor)
        #expect(file.isOpenElsewhere() == true)
        munmap(start, 4_096)
        #expect(file.isOpenElsewhere() == false)
    }

    @Test func `extended attributes are added to existing ones and move with the file`() throws {
        let disk = try PosixDisk(directory: directory.path)
        let file = try disk.open(DiskPath("content/00/2a"))
        var attributes = ExtendedAttributes()
        attributes[Array("user.a".utf8)] = [1, 0, 2]
        try file.setExtendedAttributes(attributes)
        attributes = ExtendedAttributes()
        attributes[Array("user.b".utf8)] = []
        try file.setExtendedAttributes(attributes)
        try disk.move(DiskPath("content/00/2a"), to: DiskPath("trash/1"))
        var value = [UInt8](repeating: 9, count: 4)
        let path = "\(directory.path)/trash/1"
        #expect(getxattr(path, "user.a", &value, value.count) == 3)
        #expect(value == [1, 0, 2, 9])
        #expect(getxattr(path, "user.b", &value, value.count) == 0)
    }

    @Test(arguments: ways)
    func `a copied clone has the bytes, and the holes if it looks for them`(
        copies: SparseCopy
    ) throws {
        let disk = try PosixDisk(directory: directory.path, sharesBytes: false, copies: copies)
        let source = try disk.open(DiskPath("source"))
        let size: UInt64 = 64 << 20
        let head = TestBytes.random(700_000)
        let tail = TestBytes.random(300_001)
        try source.write(head, at: 0)
        try source.write(tail, at: 32 << 20)
        try source.truncate(to: size)

        let clone = try disk.clone(source, to: DiskPath("deep/down/clone"))

        #expect(try clone.status().size == size)
        #expect(try clone.read(head.count, at: 0) == head)
        #expect(try clone.read(tail.count, at: 32 << 20) == tail)
        #expect(try clone.read(4_096, at: 16 << 20) == [UInt8](repeating: 0, count: 4_096))
        if copies.findsHoles {
            #expect(try clone.status().allocatedBytes < 2 << 20)
        }
        #expect(try directory.mode(of: "deep/down/clone") == 0o600)
    }

    @Test func `a failed clone leaves its target unchanged and no draft`() throws {
        let disk = try PosixDisk(directory: directory.path)
        let source = try disk.open(DiskPath("source"))
        try source.write([1, 2, 3], at: 0)
        // A directory cannot be replaced by a file.
        _ = try disk.open(DiskPath("taken/inside"))

        let error = #expect(throws: DiskError.self) {
            _ = try disk.clone(source, to: DiskPath("taken"))
        }

        #expect(error?.kind == .failed)
        #expect(error?.attempt == "clone a file to \"taken\"")
        #expect(
            try Set(disk.files(below: DiskPath(""))) == [
                DiskPath("source"), DiskPath("taken/inside"),
            ])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path + "/clones") == [])
    }

    @Test
    func `the next start removes the drafts of clones that a crash left, and nothing else`() throws
    {
        _ = try PosixDisk(directory: directory.path)
        for name in ["7", "7-notes"] {
            try Data([1]).write(to: URL(filePath: directory.path + "/clones/\(name)"))
        }
        let disk = try PosixDisk(directory: directory.path)
        #expect(try disk.files(below: DiskPath("")) == [])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path + "/clones")
                == ["7-notes"])
    }

    @Test func `symbolic links are neither listed nor followed`() throws {
        let disk = try PosixDisk(directory: directory.path)
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/link", withDestinationPath: "/etc/passwd")
        #expect(try disk.files(below: DiskPath("")) == [])
        #expect(throws: DiskError.self) { _ = try disk.open(DiskPath("link")) }
    }

    @Test func `the descriptor is the file's own`() throws {
        let file = try PosixDisk(directory: directory.path).open(DiskPath("a"))
        try file.write(Array("swift".utf8), at: 0)
        let descriptor = try #require(try file.openDescriptor())
        var bytes = [UInt8](repeating: 0, count: 5)
        #expect(pread(descriptor.rawValue, &bytes, 5, 0) == 5)
        #expect(bytes == Array("swift".utf8))
    }

    @Test func `a missing root is named`() {
        let error = #expect(throws: DiskError.self) {
            _ = try PosixDisk(directory: directory.path + "/none")
        }
        #expect(error?.kind == .missing)
    }

    @Test(.enabled(if: LoopMount.obstacle == nil, "needs root and mkfs.xfs"))
    func `a clone on XFS shares the bytes and keeps the holes`() throws {
        let mount = try LoopMount()
        let disk = try PosixDisk(directory: mount.path)
        let source = try disk.open(DiskPath("source"))
        let bytes = TestBytes.random(1 << 20)
        for place in 32..<48 as Range<UInt64> { try source.write(bytes, at: place << 20) }
        try source.truncate(to: 256 << 20)
        try source.synchronize()
        let before = try disk.space().availableBytes

        #expect(disk.sharesBytes)
        let clone = try #require(try disk.share(source, to: DiskPath("snapshots/1")))
        try clone.synchronize()

        let after = try disk.space().availableBytes
        #expect(before - after < 2 << 20)
        #expect(try clone.status().size == 256 << 20)
        #expect(try clone.status().allocatedBytes < 17 << 20)
        try source.write([1, 2, 3], at: 32 << 20)
        #expect(try clone.read(bytes.count, at: 32 << 20) == bytes)
        #expect(try clone.read(bytes.count, at: 47 << 20) == bytes)
    }

    @Test(.enabled(if: LoopMount.obstacle == nil, "needs root and mkfs.xfs"))
    func `a full disk is reported, and an interrupted clone leaves nothing`() throws {
        let mount = try LoopMount()
        let disk = try PosixDisk(
            directory: mount.path, sharesBytes: false, copies: SparseCopy(usesKernel: false))
        let source = try disk.open(DiskPath("source"))
        let bytes = [UInt8](repeating: 1, count: 8 << 20)
        var offset: UInt64 = 0
        while try disk.space().availableBytes > 100 << 20 {
            try source.write(bytes, at: offset)
            try source.synchronize()
            offset += UInt64(bytes.count)
        }

        let error = #expect(throws: DiskError.self) {
            _ = try disk.clone(source, to: DiskPath("snapshot"))
        }

        #expect(error?.kind == .full)
        #expect(try disk.files(below: DiskPath("")) == [DiskPath("source")])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: mount.path + "/clones") == [])
    }

    @Test(.enabled(if: LoopMount.obstacle == nil, "needs root and mkfs.xfs"))
    func `a copy leaves room for the database`() throws {
        let mount = try LoopMount()
        let disk = try PosixDisk(
            directory: mount.path, sharesBytes: false, copies: SparseCopy(usesKernel: false))
        let source = try disk.open(DiskPath("source"))
        let neighbour = try disk.open(DiskPath("neighbour"))
        let bytes = [UInt8](repeating: 1, count: 4 << 20)
        // XFS preallocates only for writes beyond a file's end.
        try source.truncate(to: 64 << 20)
        try neighbour.truncate(to: 1 << 30)
        for place in 0..<16 as Range<UInt64> { try source.write(bytes, at: place << 22) }
        try source.synchronize()
        var offset: UInt64 = 0
        while try disk.space().availableBytes > 76 << 20 {
            try neighbour.write(bytes, at: offset)
            try neighbour.synchronize()
            offset += UInt64(bytes.count)
        }
        let space = try disk.space()
        #expect(space.availableBytes > 64 << 20, "it would fit")
        #expect(space.availableBytes < space.reserve + (64 << 20), "but for the reserve")

        let error = #expect(throws: DiskError.self) {
            _ = try disk.clone(source, to: DiskPath("snapshot"))
        }
        #expect(error?.kind == .full)
        try neighbour.truncate(to: 0)
        _ = try disk.clone(source, to: DiskPath("snapshot"))
    }
}
