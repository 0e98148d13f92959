import Engine
import Foundation
import Host
import TestBytes
import Testing

@Suite("The log of a database") struct PosixDatabaseLogTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = "\(directory.path)/state.sqlite"
    }

    @Test func `is opened when it is first needed`() throws {
        let log = PosixDatabaseLog(ofDatabaseAt: path)
        let error = #expect(throws: DiskError.self) { try log.synchronize() }
        #expect(error?.kind == .missing)
        try Data("log".utf8).write(to: URL(filePath: "\(path)-wal"))
        try log.synchronize()
    }

    @Test(arguments: [0, 5, 1 << 20, (1 << 20) + 7, 3 << 20])
    func `keeps its bytes if it is written again`(count: Int) throws {
        let bytes = Data(TestBytes.random(count))
        let file = URL(filePath: "\(path)-wal")
        try bytes.write(to: file)
        try PosixDatabaseLog(ofDatabaseAt: path).rewrite()
        #expect(try Data(contentsOf: file) == bytes)
    }

    @Test func `fails once it was removed`() throws {
        let file = URL(filePath: "\(path)-wal")
        try Data("log".utf8).write(to: file)
        let log = PosixDatabaseLog(ofDatabaseAt: path)
        try log.synchronize()
        try FileManager.default.removeItem(at: file)
        #expect(throws: DiskError.self) { try log.synchronize() }
    }

    @Test func `is that of a store`() throws {
        let store = try Store(path: path, log: PosixDatabaseLog(ofDatabaseAt: path))
        defer { store.close() }
        #expect(try store.presentBytes() == 0)
        try PosixDatabaseLog(ofDatabaseAt: path).synchronize()
    }
}
