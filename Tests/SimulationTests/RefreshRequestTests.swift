import Simulation
import Testing

@testable import Engine

@Suite("A look at the remote on request") struct RefreshRequestTests {
    /// Goal: one directory that may not be listed hides no changes in others.
    @Test func `lists the other directories too if one is refused`() throws {
        try Scenario.run { it in
            for name in ["a", "b", "c"] { try await it.makeDirectory(name) }
            #expect(try await it.rest())
            try await it.refresh()
            for name in ["a", "b", "c"] {
                #expect(try await it.names(in: name) == [])
                try it.remote.otherClientWrites(Scenario.key("\(name)/new"), [1])
            }
            it.remote.refuse(.denied, attempts: "list \"b\"")
            await #expect(throws: EngineError.self) {
                try await it.engine.refreshes.refresh(below: .root) { _ in }
            }
            #expect(try await it.names(in: "a") == ["new"])
            #expect(try await it.names(in: "b") == [])
            #expect(try await it.names(in: "c") == ["new"])
            it.remote.refuse(nil)
            try await it.engine.refreshes.refresh(below: .root) { _ in }
            #expect(try await it.names(in: "b") == ["new"])
        }
    }
}
