import Foundation
import GRDB
import Simulation
import Testing

@testable import Host

/// Goal: the frames of a commit are in the log before the commit returns, and none of a transaction that was
/// rolled back disturb it.
///
/// Method: transactions larger than SQLite's cache, so that pages are written early, read again and replaced.
/// After each one a copy of the files is opened, as they would be after `kill -9`.
@Suite("The log of a database with joined writes") struct DatabaseFilesTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `has each commit, and nothing else`(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        #expect(DatabaseFiles.register(byDefault: false))
        var random = SeededGenerator(seed: seed)
        let files = Files(path: directory.path + "/db")
        let connections = try (0..<2).map { _ in try files.open() }
        try connections[0].write { database in
            try database.execute(
                sql: "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB); CREATE INDEX i ON t(v)")
        }
        var expected: [Row] = []
        for _ in 0..<60 {
            let connection = connections.randomElement(using: &random) ?? connections[0]
            let commits = Bool.random(using: &random)
            try connection.inDatabase { database in
                try database.beginTransaction(.immediate)
                for _ in 0..<Int.random(in: 1...120, using: &random) {
                    try change(database, &random)
                }
                if commits { expected = try files.rows(database) }
                try commits ? database.commit() : database.rollback()
            }
            for connection in connections {
                #expect(try connection.read(files.rows) == expected)
            }
            if Int.random(in: 0..<6, using: &random) == 0 {
                try connection.inDatabase {
                    _ = try $0.checkpoint(Bool.random(using: &random) ? .passive : .restart)
                }
            }
            #expect(try files.rowsOfCopy() == expected)
        }
    }

    private func change(_ database: Database, _ random: inout SeededGenerator) throws {
        let key = Int.random(in: 0..<300, using: &random)
        let count = [10, 100, 3_000].randomElement(using: &random)
        try database.execute(
            sql: "INSERT OR REPLACE INTO t VALUES (?, randomblob(?))", arguments: [key, count])
        if key.isMultiple(of: 7) { _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM t") }
    }
}

private struct Files {
    let path: String

    func open() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
                    PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 8; PRAGMA cache_spill = 5
                    """)
        }
        return try DatabaseQueue(
            path: "file:\(path)?vfs=\(DatabaseFiles.name)", configuration: configuration)
    }

    func rows(_ database: Database) throws -> [Row] {
        try Row.fetchAll(database, sql: "SELECT k, v FROM t ORDER BY k")
    }

    func rowsOfCopy() throws -> [Row] {
        let copy = path + "-copy"
        for suffix in ["", "-wal"] {
            // `cp` closes no descriptor of this process, which would end SQLite's locks.
            let process = Process()
            process.executableURL = URL(filePath: "/bin/cp")
            process.arguments = [path + suffix, copy + suffix]
            try process.run()
            process.waitUntilExit()
        }
        let database = try DatabaseQueue(path: "file:\(copy)?vfs=unix")
        return try database.read { database in
            #expect(try String.fetchAll(database, sql: "PRAGMA integrity_check") == ["ok"])
            return try rows(database)
        }
    }
}
