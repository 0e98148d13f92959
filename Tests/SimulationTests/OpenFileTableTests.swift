import Dispatch
import Simulation
import Synchronization
import Testing

@testable import Engine

/// Goal: slow work on unused files delays opens of these files only.
@Suite struct OpenFileTableTests {
    private static let inode = InodeNumber(rawValue: 1)
    /// All locks of the table are those of some of these.
    private static let others = (2...200).map { InodeNumber(rawValue: $0) }

    private static func file(_ inode: InodeNumber) throws(Blocked) -> OpenFile {
        let disk = SimulatedDisk(seed: 1, clock: SimulatedClock())
        let content = try onDisk("open", do: disk.open(StateFiles.content(of: inode)))
        return OpenFile(
            inode: inode, accessed: Timestamp(nanoseconds: 0), mayHaveSetID: false,
            state: OpenFile.State(
                file: content, size: 0, modified: Timestamp(nanoseconds: 0),
                present: ExtentSet(), isMarkedWriting: false, isMarkedUnsafe: false,
                isChanged: false, stored: .remote, bytesUsed: 0, bytesRecorded: 0))
    }

    @Test func `work on one file delays the users of no other`() throws {
        let table = OpenFileTable()
        try table.withExclusive([Self.inode]) { unused throws(Blocked) in
            #expect(unused == [Self.inode])
            for other in Self.others {
                let file = try table.retain(other) { () throws(Blocked) in try Self.file(other) }
                #expect(table.existing(other) === file)
                table.release(other) { _ in }
            }
            try table.withExclusive(Self.others) { #expect($0 == Self.others) }
        }
    }

    @Test func `a user of the file waits for its end`() throws {
        let table = OpenFileTable()
        let hasEnded = Atomic(false)
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try table.withExclusive([Self.inode]) { _ throws(Blocked) in
            DispatchQueue.global().async {
                begun.signal()
                _ = try? table.retain(Self.inode) { () throws(Blocked) in
                    let hasEnded = hasEnded.load(ordering: .acquiring)
                    #expect(hasEnded)
                    return try Self.file(Self.inode)
                }
                table.release(Self.inode) { _ in }
                ended.signal()
            }
            begun.wait()
            hasEnded.store(true, ordering: .releasing)
        }
        ended.wait()
        #expect(table.existing(Self.inode) == nil)
    }

    /// Method: each of several threads works on the same files again and again, in another order.
    @Test func `overlapping work is done one after the other`() throws {
        let table = OpenFileTable()
        let workers = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for _ in 0..<200 {
                let inodes = thread % 2 == 0 ? Self.others : Self.others.reversed()
                try? table.withExclusive(inodes) { unused throws(Blocked) in
                    #expect(unused == Self.others)
                    let count = workers.add(1, ordering: .sequentiallyConsistent).newValue
                    #expect(count == 1)
                    workers.subtract(1, ordering: .sequentiallyConsistent)
                }
            }
        }
    }

    @Test func `files in use are left out`() throws {
        let table = OpenFileTable()
        let file = try table.retain(Self.inode) { () throws(Blocked) in
            try Self.file(Self.inode)
        }
        try table.withExclusive([Self.inode, Self.others[0]]) { #expect($0 == [Self.others[0]]) }
        #expect(try table.withExclusive(Self.inode) {} == nil)
        #expect(table.existing(Self.inode) === file)
        table.release(Self.inode) { _ in }
        #expect(try table.withExclusive(Self.inode) {} != nil)
    }
}
