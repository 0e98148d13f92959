import Foundation
import GRDB
import Testing

@testable import Engine

@Suite("The caches of the database")
struct StoreCacheTests {
    @Test(arguments: [4 << 20, 16 << 20] as [UInt64])
    func `take no more than they are given`(bytes: UInt64) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apus-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try Store(
            path: folder.appending(path: "state.sqlite").path, cacheBytes: bytes)
        defer { store.close() }
        // Negative: KiB instead of pages.
        let size: (Database) throws -> Int = { try $0.value("PRAGMA cache_size") ?? 0 }
        let writer = -(try store.write(size)) << 10
        let reader = -(try store.read(size)) << 10
        #expect(writer > 0 && reader > 0)
        #expect(writer + 8 * reader <= Int(bytes))
    }
}
