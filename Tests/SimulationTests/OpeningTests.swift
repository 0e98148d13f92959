import Simulation
import Testing

@testable import Engine

@Suite("Opening a file without local bytes") struct OpeningTests {
    /// Method: the change is not found by a listing, as none is made.
    @Test(arguments: [FileAccess.read, .write])
    func `notices that the remote has another version`(access: FileAccess) throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("file"), [1, 1, 1])
        } _: { it in
            let former = try await it.find("file")
            try it.remote.otherClientWrites(Scenario.key("file"), [2, 2])
            let error = await #expect(throws: EngineError.self) {
                try await it.engine.retrying { () throws(Blocked) in
                    try it.engine.open(former, access: access, truncating: false)
                }
            }
            #expect(error?.kind == .changedRemotely)
            // The kernel repeats the lookup.
            let file = try await it.find("file")
            #expect(file != former)
            try await it.open(file)
            try await it.write([3], at: 2, of: file)
            it.engine.release(file, access: .write)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file") == [2, 2, 3])
            #expect(it.remotePaths == ["file"])
        }
    }

    @Test(arguments: [FileAccess.read, .write])
    func `notices that the remote has lost the file`(access: FileAccess) throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("file"), [1, 1, 1])
        } _: { it in
            let file = try await it.find("file")
            try it.remote.otherClientDeletes(Scenario.key("file"))
            let error = await #expect(throws: EngineError.self) {
                try await it.engine.retrying { () throws(Blocked) in
                    try it.engine.open(file, access: access, truncating: false)
                }
            }
            // A writer may create it, and repeats the lookup to do so.
            #expect(error?.kind == (access == .read ? .notFound : .changedRemotely))
            #expect(try await it.names(in: "") == [])
            #expect(try await it.rest())
            #expect(it.remotePaths == [])
        }
    }

    @Test func `accepts writes while the remote refuses, and merges them later`()
        throws
    {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("file"), [1, 1, 1])
        } _: { it in
            let file = try await it.find("file")
            it.remote.refuse(.busy)
            try await it.open(file)
            try await it.write([2], at: 3, of: file)
            it.engine.release(file, access: .write)
            it.remote.refuse(nil)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file") == [1, 1, 1, 2])
        }
    }
}
