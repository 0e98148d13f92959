import GRDB
import Simulation
import Synchronization
import Testing

@testable import Engine

/// Goal: synchronising many small files is cheap.
struct UploadCostTests {
    /// Counts the SQL statements of one minute in which files of one directory are uploaded.
    private static func statements(uploading count: Int, isNew: Bool) throws -> Int {
        let statements = Mutex(0)
        try Scenario.run { it in
            try await it.makeDirectory("sub")
            if !isNew { for file in 0..<count { try await it.write("sub/\(file)", [1]) } }
            #expect(try await it.rest())
            for file in 0..<count { try await it.write("sub/\(file)", [2, 3]) }
            try it.engine.store.write { database in
                database.trace { _ in statements.withLock { $0 += 1 } }
            }
            try await it.wait(.seconds(60))
            try it.engine.store.write { $0.trace(options: []) }
            #expect(try it.status().pending.count == 0)
            for file in 0..<count { #expect(it.remoteBytes("sub/\(file)") == [2, 3]) }
        }
        return statements.withLock { $0 }
    }

    /// Goal: files of a new directory are sent as soon as it exists.
    ///
    /// Method: a second after they were written, the directory and all its files are due; four at a
    /// time, each of which takes up to 60 ms.
    @Test(arguments: UInt64(1)...10)
    func `files wait no longer for their directory than its creation takes`(seed: UInt64) throws {
        try Scenario.run(seed: seed) { it in
            try await it.makeDirectory("sub")
            for file in 0..<30 { try await it.write("sub/\(file)", [1, 2, 3]) }
            try await it.wait(.milliseconds(1_900))
            #expect(it.remotePaths.count == 31)
        }
    }

    /// Goal: files are not planned in vain while their directory does not exist.
    ///
    /// Method: as `tar` unpacks, which sets the times of each directory after its last file.
    @Test func `directories are made before their files are planned`() throws {
        let waits = Mutex(0)
        try Scenario.run { it in
            try it.engine.store.write { database in
                database.trace { event in
                    if "\(event)".contains("blocked_by = iif") { waits.withLock { $0 += 1 } }
                }
            }
            for directory in 0..<10 {
                try await it.makeDirectory("\(directory)")
                for file in 0..<30 { try await it.write("\(directory)/\(file)", [1]) }
                var change = AttributeChange()
                change.modified = .at(Timestamp(seconds: 1_000))
                _ = try it.engine.setAttributes(of: try await it.find("\(directory)"), to: change)
            }
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 310)
            try it.engine.store.write { $0.trace(options: []) }
        }
        #expect(waits.withLock { $0 } < 60)
    }

    /// The state of an inode is read once before its upload and once after, with one statement
    /// each. The statements include those of the listing that follows.
    @Test(arguments: [(true, 41), (false, 48)])
    func `uploads a new or changed small file with few statements`(
        isNew: Bool, statementsMax: Int
    ) throws {
        let idle = try Self.statements(uploading: 0, isNew: isNew)
        let busy = try Self.statements(uploading: 50, isNew: isNew)
        #expect((busy - idle) / 50 <= statementsMax)
    }
}
