import Engine
import Simulation
import Testing

/// The behaviour of every ``Disk``.
@Suite struct DiskConformance {
    private let path = DiskPath("content/00/2a")

    @Test(arguments: DiskKind.allCases)
    func `a new file is empty at any path`(kind: DiskKind) throws {
        let it = try kind.make()
        let status = try it.disk.open(path).status()
        #expect(status.size == 0)
        #expect(status.allocatedBytes == 0)
        #expect(try it.disk.open(DiskPath("a")).read(1, at: 0) == [])
    }

    @Test(arguments: DiskKind.allCases)
    func `handles on one path share the bytes`(kind: DiskKind) throws {
        let it = try kind.make()
        let first = try it.disk.open(path)
        try first.write([1, 2, 3], at: 0)
        let second = try it.disk.open(path)
        #expect(try second.read(3, at: 0) == [1, 2, 3])
        try second.write([9], at: 1)
        #expect(try first.read(3, at: 0) == [1, 9, 3])
    }

    @Test(arguments: DiskKind.allCases)
    func `a read stops at the end of the file`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([1, 2, 3], at: 0)
        #expect(try file.read(10, at: 1) == [2, 3])
        #expect(try file.read(10, at: 3) == [])
        #expect(try file.read(10, at: 1 << 40) == [])
        #expect(try file.read(10, at: .max) == [])
        #expect(try file.read(0, at: 0) == [])
    }

    @Test(arguments: DiskKind.allCases)
    func `a write beyond the end leaves a hole of zeros`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([7], at: 10 << 20)
        let status = try file.status()
        #expect(status.size == 10 << 20 + 1)
        #expect(status.allocatedBytes < 1 << 20)
        #expect(
            try file.read(4_097, at: 10 << 20 - 4_096) == [UInt8](repeating: 0, count: 4_096) + [7])
    }

    @Test(arguments: DiskKind.allCases)
    func `writes across pages keep every byte`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        var expected = [UInt8](repeating: 0, count: 30_000)
        for step in 0..<50 {
            let offset = (step * 7_919) % 20_000
            let bytes = [UInt8](repeating: UInt8(step + 1), count: (step * 997) % 9_000)
            try file.write(bytes, at: UInt64(offset))
            expected.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        }
        let size = try Int(file.status().size)
        #expect(try file.read(30_000, at: 0) == Array(expected[..<size]))
    }

    @Test(arguments: DiskKind.allCases)
    func `bytes that a truncation removed come back as zeros`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([UInt8](repeating: 5, count: 10_000), at: 0)
        try file.truncate(to: 5_000)
        #expect(try file.status().size == 5_000)
        try file.truncate(to: 9_000)
        let kept = [UInt8](repeating: 5, count: 5_000)
        #expect(try file.read(10_000, at: 0) == kept + [UInt8](repeating: 0, count: 4_000))
        try file.truncate(to: 0)
        #expect(try file.status().allocatedBytes == 0)
    }

    @Test(arguments: DiskKind.allCases)
    func `a punched hole is zeros, takes no space and keeps the length`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        try file.write(bytes + [8], at: 0)
        try file.synchronize()
        let before = try file.status().allocatedBytes
        try file.punchHole(65_536..<1 << 19)
        let zeros = [UInt8](repeating: 0, count: 1 << 19 - 65_536)
        #expect(
            try file.read(1 << 20, at: 0) == bytes[..<65_536] + zeros + bytes[(1 << 19)...])
        let status = try file.status()
        #expect(status.size == 1 << 20 + 1)
        #expect(status.allocatedBytes <= before - UInt64(zeros.count))
        // The block of the end is released as a whole.
        try file.punchHole(1 << 20..<1 << 20 + 4_096)
        #expect(try file.status().size == 1 << 20 + 1)
        #expect(try file.read(1, at: 1 << 20) == [0])
        #expect(try file.status().allocatedBytes < status.allocatedBytes)
    }

    @Test(arguments: DiskKind.allCases)
    func `impossible sizes are too large`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        for size in [UInt64.max, 1 << 63, 1 << 62] {
            let truncated = #expect(throws: DiskError.self) { try file.truncate(to: size) }
            #expect(truncated?.kind == .tooLarge)
            let written = #expect(throws: DiskError.self) { try file.write([1], at: size) }
            #expect(written?.kind == .tooLarge)
            #expect(written?.attempt == "write 1 bytes at \(size) of \"content/00/2a\"")
        }
        #expect(try file.status().size == 0)
    }

    @Test(arguments: DiskKind.allCases)
    func `a clone is independent of its source`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([1, 2, 3], at: 100_000)
        let clone = try it.disk.clone(file, to: DiskPath("snapshots/1"))
        try file.write([4], at: 100_000)
        try clone.write([5], at: 100_001)
        #expect(try file.read(3, at: 100_000) == [4, 2, 3])
        #expect(try clone.read(3, at: 100_000) == [1, 5, 3])
        #expect(try it.disk.open(DiskPath("snapshots/1")).read(3, at: 100_000) == [1, 5, 3])
    }

    @Test(arguments: DiskKind.allCases)
    func `a copy of a range changes nothing around it`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([UInt8](repeating: 1, count: 300_000), at: 0)
        try file.write([2], at: 2_000_000)
        let target = try it.disk.open(DiskPath("copy"))
        try target.truncate(to: 2_000_001)
        try it.disk.copy(100_000..<1_500_000, of: file, to: target)
        #expect(try target.read(1, at: 99_999) == [0])
        #expect(try target.read(200_001, at: 100_000) == Array(repeating: 1, count: 200_000) + [0])
        #expect(try target.status().size == 2_000_001)
        try it.disk.copy(1_999_999..<2_000_001, of: file, to: target)
        #expect(try target.read(2, at: 1_999_999) == [0, 2])
    }

    @Test(arguments: DiskKind.allCases)
    func `a file is shared if and only if the disk can`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([1, 2, 3], at: 100_000)
        let clone = try it.disk.share(file, to: DiskPath("snapshots/1"))
        #expect((clone != nil) == it.disk.sharesBytes)
        #expect(try it.disk.files(below: DiskPath("snapshots")).count == (clone == nil ? 0 : 1))
        guard let clone else { return }
        try file.write([4], at: 100_000)
        #expect(try clone.read(3, at: 100_000) == [1, 2, 3])
    }

    @Test(arguments: DiskKind.allCases)
    func `a clone replaces the file of its name, and open handles keep the old one`(kind: DiskKind)
        throws
    {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([1], at: 0)
        let former = try it.disk.open(DiskPath("snapshot"))
        try former.write([2, 2], at: 0)
        _ = try it.disk.clone(file, to: DiskPath("snapshot"))
        #expect(try former.read(2, at: 0) == [2, 2])
        #expect(try it.disk.open(DiskPath("snapshot")).read(2, at: 0) == [1])
    }

    @Test(arguments: DiskKind.allCases)
    func `a moved file has only its new path, and open handles follow it`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([1], at: 0)
        _ = try it.disk.open(DiskPath("trash/1")).write([2, 2], at: 0)
        try it.disk.move(path, to: DiskPath("trash/1"))
        try it.disk.move(DiskPath("trash/1"), to: DiskPath("trash/deep/er/2"))
        try file.write([3], at: 1)
        #expect(try it.disk.open(DiskPath("trash/deep/er/2")).read(2, at: 0) == [1, 3])
        #expect(try it.disk.files(below: DiskPath("content")) == [])
        #expect(throws: DiskError.self) { try it.disk.move(path, to: DiskPath("trash/3")) }
    }

    @Test(arguments: DiskKind.allCases)
    func `a removed file is gone, and open handles keep its bytes`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        try file.write([1], at: 0)
        try it.disk.remove(path)
        try it.disk.remove(path)
        try it.disk.remove(DiskPath("no/such/directory"))
        #expect(try it.disk.files(below: DiskPath("content")) == [])
        #expect(try file.read(1, at: 0) == [1])
        try file.synchronize()
        #expect(try it.disk.open(path).status().size == 0)
    }

    @Test(arguments: DiskKind.allCases)
    func `files and directories are listed for each directory`(kind: DiskKind) throws {
        let it = try kind.make()
        for path in ["content/00/2a", "content/00/x/y", "content/3", "contents/4"] {
            _ = try it.disk.open(DiskPath(path))
        }
        func contents(_ path: String) throws -> (files: [String], directories: [String]) {
            let found = try it.disk.contents(of: DiskPath(path))
            return (
                found.files.map(\.description).sorted(),
                found.directories.map(\.description).sorted()
            )
        }
        #expect(try contents("content") == (["content/3"], ["content/00"]))
        #expect(try contents("content/00") == (["content/00/2a"], ["content/00/x"]))
        #expect(try contents("") == ([], ["content", "contents"]))
        #expect(try contents("none") == ([], []))
    }

    @Test(arguments: DiskKind.allCases)
    func `the status of a file is found by its path, and makes no file`(kind: DiskKind) throws {
        let it = try kind.make()
        #expect(try it.disk.status(of: path) == nil)
        #expect(try it.disk.files(below: DiskPath("content")) == [])
        let file = try it.disk.open(path)
        try file.write([1, 2, 3], at: 10_000)
        #expect(try it.disk.status(of: path) == file.status())
        try it.disk.remove(path)
        #expect(try it.disk.status(of: path) == nil)
    }

    @Test(arguments: DiskKind.allCases)
    func `the highest number is found in the directories of a directory`(kind: DiskKind) throws {
        let it = try kind.make()
        let folder = DiskPath("content")
        #expect(try it.disk.highestNumber(below: folder, limit: 100) == nil)
        for path in [
            "content/70", "content/00/x/80", "content/00/9x", "content/00/-95", "contents/00/99",
            "content/00/99999999999999999999999",
        ] { _ = try it.disk.open(DiskPath(path)) }
        #expect(try it.disk.highestNumber(below: folder, limit: 100) == nil)
        for path in ["content/00/7", "content/1/60", "content/2/9", "content/1/101"] {
            _ = try it.disk.open(DiskPath(path))
        }
        #expect(try it.disk.highestNumber(below: folder, limit: 100) == 60)
        #expect(try it.disk.highestNumber(below: folder, limit: 1 << 62) == 101)
    }

    @Test(arguments: DiskKind.allCases)
    func `only the files below a directory are listed`(kind: DiskKind) throws {
        let it = try kind.make()
        let below = ["content/00/2a", "content/00/2b", "content/01/2a", "content/3"]
        for path in below + ["contents", "other/1"] { _ = try it.disk.open(DiskPath(path)) }
        let source = try it.disk.open(DiskPath("other/1"))
        _ = try it.disk.clone(source, to: DiskPath("content/4"))
        let listed = try it.disk.files(below: DiskPath("content")).map(\.description).sorted()
        #expect(listed == below + ["content/4"])
        #expect(try it.disk.files(below: DiskPath("")).count == 7)
        #expect(try it.disk.files(below: DiskPath("none")) == [])
        #expect(try it.disk.files(below: DiskPath("contents")) == [])
    }

    @Test(arguments: DiskKind.allCases)
    func `a modification time is kept to the nanosecond`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        for nanoseconds in [0, 1_234_567_890_123_456_789, -1_500_000_000] as [Int64] {
            try file.setModified(Timestamp(nanoseconds: nanoseconds))
            #expect(try file.status().modified == Timestamp(nanoseconds: nanoseconds))
        }
        try file.write([1], at: 0)
        #expect(try file.status().modified > Timestamp(seconds: 1_600_000_000))
    }

    @Test(arguments: DiskKind.allCases)
    func `a file can be synchronised repeatedly`(kind: DiskKind) throws {
        let it = try kind.make()
        let file = try it.disk.open(path)
        for byte in 0..<3 as Range<UInt8> {
            try file.write([byte], at: 0)
            try file.synchronize()
        }
        let clone = try it.disk.clone(file, to: DiskPath("clone"))
        try clone.synchronize()
        #expect(try clone.read(1, at: 0) == [2])
    }

    @Test(arguments: DiskKind.allCases)
    func `synchronising the disk keeps all earlier changes`(kind: DiskKind) throws {
        let it = try kind.make()
        for number in 0..<3 as Range<UInt8> {
            try it.disk.open(DiskPath("content/\(number)")).write([number, 7], at: 4_096)
        }
        let cut = try it.disk.open(DiskPath("content/0"))
        try cut.truncate(to: 4_097)
        try it.disk.move(DiskPath("content/1"), to: DiskPath("trash/1"))
        try it.disk.remove(DiskPath("content/2"))
        _ = try it.disk.clone(cut, to: DiskPath("clone"))
        try it.disk.synchronizeAll()
        try it.disk.synchronizeAll()
        try cut.requireStored()
        it.losePower()
        #expect(try it.disk.files(below: DiskPath("content")).map(\.description) == ["content/0"])
        for path in ["content/0", "clone"] {
            #expect(try it.disk.open(DiskPath(path)).read(10, at: 4_095) == [0, 0])
        }
        #expect(try it.disk.open(DiskPath("trash/1")).read(10, at: 4_095) == [0, 1, 7])
    }

    @Test(arguments: DiskKind.allCases)
    func `the free space is at most the total space`(kind: DiskKind) throws {
        let it = try kind.make()
        let space = try it.disk.space()
        #expect(space.totalBytes > 0)
        #expect(space.availableBytes <= space.totalBytes)
    }
}
