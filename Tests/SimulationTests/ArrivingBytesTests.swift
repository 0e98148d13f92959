import Dispatch
import GRDB
import Simulation
import Synchronization
import Testing

@testable import Engine

/// Method: the disk holds the first write, that of a fetch, until the test lets it go on.
@Suite("While fetched bytes are written to the disk") struct ArrivingBytesTests {
    private static let inode = InodeNumber(rawValue: 1)
    private static let size: UInt64 = 8_192

    private let content: HeldFile
    private let file: OpenFile
    private let piece: FetchedPiece

    init() throws {
        let disk = SimulatedDisk(seed: 1, clock: SimulatedClock())
        content = HeldFile(try disk.open(StateFiles.content(of: Self.inode)))
        try content.truncate(to: Self.size)
        file = OpenFile(
            inode: Self.inode, accessed: Timestamp(nanoseconds: 0), mayHaveSetID: false,
            state: OpenFile.State(
                file: content, size: Self.size, modified: Timestamp(nanoseconds: 0),
                present: ExtentSet(), isMarkedWriting: false, isMarkedUnsafe: false,
                isChanged: false, stored: .remote, bytesUsed: 0, bytesRecorded: 0))
        let store = try Store(DatabaseQueue())
        let cache = CacheUse(store: store, bytesMax: 1 << 30)
        piece = FetchedPiece(0..<Self.size, of: file, for: .request, cache: cache)
        #expect(cache.overdraw(Self.size, isRequired: true))
        file.state.withLock { $0.inFlight.insert(0..<Self.size) }
        piece.confirm(0..<Self.size)
    }

    /// Begins to write fetched bytes.
    ///
    /// - Returns: Notified when they are written.
    private func fetch() -> DispatchSemaphore {
        let ended = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [piece] in
            let bytes = [UInt8](repeating: 1, count: Int(Self.size))
            #expect(throws: Never.self) { try bytes.withUnsafeBytes { try piece.write($0, at: 0) } }
            ended.signal()
        }
        content.begun.wait()
        return ended
    }

    @Test func `they do not count, and readers of others do not wait`() {
        let ended = fetch()
        #expect(file.state.withLock { !$0.present.contains(0..<1) })
        content.goOn.signal()
        ended.wait()
        #expect(file.state.withLock { $0.present.contains(0..<Self.size) })
    }

    /// Goal: a kill does not find the time at which bytes arrived, for that of the last change.
    @Test func `nobody finds another time of a file that is being written`() throws {
        let time = Timestamp(nanoseconds: 1_000_000_000)
        try file.state.withLock { state in
            (state.isMarkedWriting, state.modified) = (true, time)
            try content.setModified(time)
        }
        let ended = fetch()
        #expect(file.state.withLockIfAvailable { _ in true } == nil)
        content.goOn.signal()
        ended.wait()
        #expect(try content.status().modified == time)
    }

    @Test func `a local write waits, and is not overwritten`() throws {
        let ended = fetch()
        let (begun, isWritten) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        DispatchQueue.global().async { [file] in
            begun.signal()
            #expect(throws: Never.self) { try Self.write(to: file) }
            isWritten.signal()
        }
        begun.wait()
        #expect(isWritten.wait(timeout: .now() + .milliseconds(50)) == .timedOut)
        content.goOn.signal()
        ended.wait()
        isWritten.wait()
        var bytes = [UInt8](repeating: 0, count: Int(Self.size))
        _ = try bytes.withUnsafeMutableBytes { try content.read(into: $0, at: 0) }
        #expect(bytes[99...110] == [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1])
    }

    private static func write(to file: OpenFile) throws {
        let bytes = [UInt8](repeating: 2, count: 10)
        try bytes.withUnsafeBytes { bytes in
            try file.withBytes { state throws(Blocked) in
                try onDisk("write", do: state.file.write(bytes, at: 100))
            }
        }
    }
}

/// A file whose first write waits.
private final class HeldFile: ForwardingFile {
    let begun = DispatchSemaphore(value: 0)
    let goOn = DispatchSemaphore(value: 0)
    private let isHeld = Atomic(true)
    let file: any DiskFile

    init(_ file: any DiskFile) { self.file = file }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
        if isHeld.exchange(false, ordering: .acquiringAndReleasing) {
            begun.signal()
            goOn.wait()
        }
        try file.write(bytes, at: offset)
    }
}
