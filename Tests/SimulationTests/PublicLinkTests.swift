import Simulation
import Testing

@testable import Engine

@Suite("Public links")
struct PublicLinkTests {
    @Test func `a link is made for remote files, not for local ones`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            try await it.write("a b", [1])
            let inode = try await it.find("a b")
            let early = await #expect(throws: EngineError.self) {
                _ = try await it.engine.publicLink(to: inode)
            }
            #expect(early?.kind == .busy)
            #expect(early?.remedy?.contains("apus sync") == true)
            #expect(try await it.rest())
            #expect(try await it.engine.publicLink(to: inode) == "https://cloud.example.org/a b")
        }
    }

    @Test func `a remote that makes none says so`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1])
            #expect(try await it.rest())
            it.remote.refuse(.unsupported, attempts: "link")
            let inode = try await it.find("a")
            let error = await #expect(throws: EngineError.self) {
                _ = try await it.engine.publicLink(to: inode)
            }
            #expect(error?.kind == .unsupported)
        }
    }
}
