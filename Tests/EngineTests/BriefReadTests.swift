import Foundation
import GRDB
import Synchronization
import Testing

@testable import Engine

@Suite("Brief reads")
struct BriefReadTests {
    private let folder: URL
    private let store: Store

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "apus-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = try Store(path: folder.appending(path: "state.sqlite").path)
    }

    private static func insert(_ key: String, _ database: Database) throws {
        try database.run("INSERT INTO settings VALUES (?, '')", [key])
    }

    private static func count(_ database: Database) throws -> Int {
        try database.value("SELECT count(*) FROM settings") ?? 0
    }

    /// - Returns: Whether it ended. The limit is one of patience with a fault.
    private func onOtherThread(_ body: @escaping @Sendable () -> Void) -> Bool {
        let end = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            end.signal()
        }
        return end.wait(timeout: .now() + 60) == .success
    }

    @Test func `see the last commit without waiting for the smallest transaction`() throws {
        defer { close() }
        let before = try store.readBriefly(Self.count)
        let seen = Mutex<Int?>(nil)
        try store.write { database in
            try Self.insert("new", database)
            let isOver = onOtherThread { [store] in
                let count = try? store.readBriefly(Self.count)
                seen.withLock { $0 = count }
            }
            #expect(isOver)
        }
        #expect(seen.withLock { $0 } == before)
        #expect(try store.readBriefly(Self.count) == before + 1)
    }

    @Test func `do not wait for reads in turn nor for each other`() throws {
        defer { close() }
        let before = try store.readBriefly(Self.count)
        let seen = Mutex<[Int]>([])
        let read = { @Sendable [store] () -> Void in
            guard let count = try? store.readBriefly(Self.count) else { return }
            seen.withLock { $0.append(count) }
        }
        try store.readInTurn { _ in #expect(onOtherThread(read)) }
        try store.readBriefly { _ in #expect(onOtherThread(read)) }
        #expect(seen.withLock { $0 } == [before, before])
    }

    @Test func `of many threads see what each has written`() throws {
        defer { close() }
        let before = try store.readBriefly(Self.count)
        let failures = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 4) { [store] thread in
            for number in 0..<100 {
                let key = "\(thread) \(number)"
                try? store.write { try Self.insert(key, $0) }
                let isThere = try? store.readBriefly {
                    try $0.hasRow("settings WHERE key = ?", [key])
                }
                if isThere != true { failures.add(1, ordering: .relaxed) }
            }
        }
        #expect(failures.load(ordering: .relaxed) == 0)
        #expect(try store.readBriefly(Self.count) == before + 400)
    }

    private func close() {
        store.close()
        try? FileManager.default.removeItem(at: folder)
    }
}
