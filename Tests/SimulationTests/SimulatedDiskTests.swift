import Engine
import Simulation
import Testing

/// Features of the simulated disk only; those of every ``Disk`` are tested by `DiskConformance`.
@Suite struct SimulatedDiskTests {
    private let clock = SimulatedClock(start: Timestamp(seconds: 5_000))
    private let path = DiskPath("content/1")

    private func disk(seed: UInt64 = 1, capacityBytes: UInt64 = 1 << 30) -> SimulatedDisk {
        SimulatedDisk(seed: seed, clock: clock, capacityBytes: capacityBytes)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `synced data survives every power cut, with its name`(seed: UInt64) throws {
        let disk = disk(seed: seed)
        let file = try disk.open(path)
        let synced = [UInt8](repeating: 1, count: 20_000)
        try file.write(synced, at: 0)
        try file.setModified(Timestamp(seconds: 77))
        try file.synchronize()
        let beside = try disk.open(DiskPath("content/2"))
        try beside.write([2], at: 0)

        disk.powerCut()

        let again = try disk.open(path)
        #expect(try again.read(30_000, at: 0) == synced)
        #expect(try again.status().modified == Timestamp(seconds: 77))
    }

    @Test func `unsynced data survives completely, in part or not at all`() throws {
        var sizes: Set<Int> = []
        var contents: Set<[UInt8]> = []
        var namesLost = 0
        for seed in 0..<300 as Range<UInt64> {
            let disk = disk(seed: seed)
            let file = try disk.open(path)
            try file.write([UInt8](repeating: 1, count: 2_000), at: 0)
            try file.write([UInt8](repeating: 2, count: 2_000), at: 2_000)
            disk.powerCut()
            if try disk.files(below: DiskPath("content")).isEmpty {
                namesLost += 1
                continue
            }
            let bytes = try disk.open(path).read(10_000, at: 0)
            sizes.insert(bytes.count)
            contents.insert(bytes)
        }
        #expect((100...200).contains(namesLost))
        // Nothing, the first, both, both with the second torn at a sector, and the second alone
        // after a hole.
        #expect(sizes.isSuperset(of: [0, 2_000, 4_000, 2_048, 3_584]))
        #expect(sizes.allSatisfy { $0 == 2_000 || $0 == 4_000 || $0.isMultiple(of: 512) })
        let hole = [UInt8](repeating: 0, count: 2_000)
        #expect(contents.contains(hole + [UInt8](repeating: 2, count: 2_000)))
    }

    @Test func `an unsynced overwrite never damages the bytes around it`() throws {
        for seed in 0..<100 as Range<UInt64> {
            let disk = disk(seed: seed)
            let file = try disk.open(path)
            try file.write([UInt8](repeating: 1, count: 8_192), at: 0)
            try file.synchronize()
            try file.write([UInt8](repeating: 2, count: 4_096), at: 2_048)
            disk.powerCut()
            let bytes = try disk.open(path).read(10_000, at: 0)
            #expect(bytes.count == 8_192)
            #expect(bytes[..<2_048].allSatisfy { $0 == 1 })
            #expect(bytes[6_144...].allSatisfy { $0 == 1 })
            let written = bytes[2_048..<6_144].prefix { $0 == 2 }
            #expect(written.count.isMultiple(of: 512))
            #expect(bytes[(2_048 + written.count)...].allSatisfy { $0 == 1 })
        }
    }

    @Test func `a replaced or removed name is as before or as after`() throws {
        var replaced: Set<[UInt8]> = []
        var removed: Set<Int> = []
        for seed in 0..<50 as Range<UInt64> {
            let disk = disk(seed: seed)
            let old = try disk.open(path)
            try old.write([1], at: 0)
            try old.synchronize()
            let source = try disk.open(DiskPath("source"))
            try source.write([2], at: 0)
            try source.synchronize()
            let other = try disk.clone(source, to: DiskPath("other"))
            try other.synchronize()
            _ = try disk.clone(source, to: path)
            try disk.remove(DiskPath("other"))
            disk.powerCut()
            replaced.insert(try disk.open(path).read(9, at: 0))
            removed.insert(try disk.files(below: DiskPath("")).count)
        }
        // The bytes of the clone were not synchronized either.
        #expect(replaced == [[1], [2], []])
        #expect(removed == [2, 3])
    }

    @Test func `the same seed loses the same`() throws {
        func survivors(seed: UInt64) throws -> [[UInt8]] {
            let disk = disk(seed: seed)
            for number in 0..<20 {
                let file = try disk.open(DiskPath("\(number)"))
                for step in 0..<5 as Range<UInt8> {
                    try file.write([UInt8](repeating: step, count: 700), at: UInt64(step) * 600)
                }
            }
            disk.powerCut()
            return try disk.files(below: DiskPath("")).map {
                try Array($0.description.utf8) + disk.open($0).read(10_000, at: 0)
            }
        }
        #expect(try survivors(seed: 1) == survivors(seed: 1))
        #expect(try survivors(seed: 1) != survivors(seed: 2))
    }

    @Test func `the end of the process loses nothing that was written`() throws {
        let disk = disk()
        let file = try disk.open(path)
        try file.write([1, 2, 3], at: 0)
        disk.kill()
        #expect(try disk.open(path).read(9, at: 0) == [1, 2, 3])
    }

    @Test func `handles from before a crash are dead`() throws {
        let disk = disk()
        for disaster in [disk.kill, disk.powerCut] {
            let file = try disk.open(path)
            try file.write([1], at: 0)
            try file.synchronize()
            disaster()
            let attempts: [() throws -> Void] = [
                { _ = try file.read(1, at: 0) }, { try file.write([2], at: 0) },
                { try file.truncate(to: 0) }, { try file.synchronize() },
                { _ = try file.status() }, { try file.setModified(Timestamp(seconds: 0)) },
                { _ = try disk.clone(file, to: DiskPath("clone")) },
            ]
            for attempt in attempts {
                let error = #expect(throws: DiskError.self) { try attempt() }
                #expect(error?.kind == .failed)
            }
            #expect(try disk.open(path).read(9, at: 0) == [1])
        }
    }

    @Test func `a fault affects its operation, once, and changes nothing`() throws {
        let disk = disk()
        let file = try disk.open(path)
        disk.setFaults(DiskFaultPlan(.fails, after: 1, count: 1))
        try file.write([1], at: 0)
        let error = #expect(throws: DiskError.self) { try file.write([2], at: 0) }
        #expect(error?.kind == .failed)
        #expect(error?.attempt == "write 1 bytes at 0 of \"content/1\"")
        #expect(try file.read(1, at: 0) == [1])
    }

    @Test func `a file whose sync failed never succeeds later`() throws {
        let disk = disk()
        let file = try disk.open(path)
        try file.write([1], at: 0)
        disk.setFaults(DiskFaultPlan(.fails, after: 0, count: 1))
        #expect(throws: DiskError.self) { try file.synchronize() }
        #expect(throws: DiskError.self) { try file.synchronize() }
        try disk.open(path).synchronize()
        disk.powerCut()
        #expect(try disk.open(path).status().size == 0, "the medium never got the byte")
    }

    /// Goal: synchronized bytes are there, wherever the power fails.
    ///
    /// Method: cut it at the 1st operation, then at the 2nd, until none is left to cut.
    @Test func `a power cut at any operation keeps acknowledged data`() throws {
        for operation in 1...8 {
            let disk = disk(seed: UInt64(operation))
            disk.setFaults(DiskFaultPlan(.fails, after: operation - 1, count: .max))
            var acknowledged: UInt8 = 0
            let error = #expect(throws: DiskError.self) {
                let file = try disk.open(path)
                for value in 1...10 as ClosedRange<UInt8> {
                    try file.write([value], at: 0)
                    try file.synchronize()
                    acknowledged = value
                }
            }
            #expect(error?.reason == "Input/output error")
            #expect(throws: DiskError.self) { _ = try disk.open(path) }
            disk.powerCut()
            disk.setFaults(DiskFaultPlan())
            let bytes = try disk.open(path).read(1, at: 0)
            if acknowledged > 0 {
                #expect(bytes == [acknowledged] || bytes == [acknowledged + 1])
            }
        }
    }

    @Test func `a full disk accepts the bytes that fit`() throws {
        let disk = disk(capacityBytes: 3 * 4_096)
        let file = try disk.open(path)
        let error = #expect(throws: DiskError.self) {
            try file.write([UInt8](repeating: 1, count: 5 * 4_096), at: 100)
        }
        #expect(error?.kind == .full)
        #expect(try file.status().size == 3 * 4_096)
        #expect(try disk.space().availableBytes == 0)
        // Allocated pages can be overwritten.
        try file.write([2], at: 0)
        let cloned = #expect(throws: DiskError.self) {
            _ = try disk.clone(file, to: DiskPath("clone"))
        }
        #expect(cloned?.kind == .full)
        #expect(try disk.files(below: DiskPath("")) == [path])
    }

    @Test func `space is freed with the last name and handle of a file`() throws {
        let disk = disk()
        let total = try disk.space().totalBytes
        do {
            let file = try disk.open(path)
            try file.write([1], at: 0)
            try file.synchronize()
            try disk.remove(path)
            #expect(try disk.space().availableBytes == total - 4_096)
            try file.truncate(to: 0)
            #expect(try disk.space().availableBytes == total)
            try file.write([1], at: 0)
        }
        #expect(try disk.space().availableBytes == total)
        for _ in 0..<200 {
            let file = try disk.open(path)
            try file.write([1], at: 0)
            try file.synchronize()
            try disk.remove(path)
        }
        #expect(try disk.space().availableBytes == total)
        disk.powerCut()
        let left = try disk.files(below: DiskPath("")).count
        #expect(try disk.space().availableBytes == total - UInt64(left) * 4_096)
    }

    @Test func `modification times come from the clock`() throws {
        let file = try disk().open(path)
        #expect(try file.status().modified == Timestamp(seconds: 5_000))
        clock.advance(by: .seconds(5))
        try file.write([1], at: 0)
        #expect(try file.status().modified == Timestamp(seconds: 5_005))
        clock.jumpWall(by: .seconds(-100))
        try file.truncate(to: 0)
        #expect(try file.status().modified == Timestamp(seconds: 4_905))
        #expect(try file.openDescriptor() == nil)
    }
}
