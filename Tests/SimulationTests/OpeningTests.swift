import Simulation
import Testing

@testable import Engine

@Suite("Opening a file that is not here") struct OpeningTests {
    /// Method: the change is not found by a listing, as none is made.
    @Test(arguments: [FileAccess.read, .write])
    func `tells that the remote has another version`(access: FileAccess) throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("file"), [1, 1, 1])
        } _: { it in
            let former = try await it.find("file")
            try it.remote.otherClientWrites(Scenario.key("file"), [2, 2])
            let error = await #expect(throws: EngineError.self) {
                try await it.engine.completing { () throws(Halt) in
                    try it.engine.open(former, access: access, truncating: false)
                }
            }
            #expect(error?.kind == .changedRemotely)
            // The kernel looks the name up again.
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
    func `tells that the remote has it no more`(access: FileAccess) throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("file"), [1, 1, 1])
        } _: { it in
            let file = try await it.find("file")
            try it.remote.otherClientDeletes(Scenario.key("file"))
            let error = await #expect(throws: EngineError.self) {
                try await it.engine.completing { () throws(Halt) in
                    try it.engine.open(file, access: access, truncating: false)
                }
            }
            // Whoever writes may create it, and looks the name up again to do so.
            #expect(error?.kind == (access == .read ? .notFound : .changedRemotely))
            #expect(try await it.names(in: "") == [])
            #expect(try await it.rest())
            #expect(it.remotePaths == [])
        }
    }

    @Test func `takes what is written while the remote refuses, and brings it together later`()
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
