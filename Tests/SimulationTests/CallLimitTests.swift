import Simulation
import Testing

@testable import Engine

/// Goal: a call that is never answered ends, so that it is tried again.
@Suite("A call that is never answered") struct CallLimitTests {
    @Test func `a listing ends after ten minutes, and its readers are told before`() throws {
        try Scenario.run { it in
            try it.remote.otherClientMakesDirectory(Scenario.key("d"))
            try await it.refresh()
            it.remote.stand(true)
            let begin = it.mount.clock.uptime
            await #expect(throws: EngineError.self) { try await it.names(in: "d") }
            #expect(it.mount.clock.uptime - begin < .seconds(70))
            let directory = try await it.find("d")
            try await it.wait(.seconds(610))
            #expect(it.engine.remote.lister.listings.flight(of: directory) == nil)
        }
    }

    /// Method: probes are answered, so that the remote is not out of reach.
    @Test func `a change ends after ten minutes, or an hour if a store copies`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
        } _: { it in
            let gate = it.engine.remote.gate
            let key = Scenario.key("a")
            let etag = try await gate.stat(key).etag
            let attributes = ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o644)
            func expectEnd(
                of attempt: String, after limit: Duration, _ call: () async throws -> Void
            ) async {
                it.remote.stand(true, attempts: attempt)
                defer { it.remote.stand(false) }
                let begin = it.mount.clock.uptime
                let error = await #expect(throws: ProviderError.self, "\(attempt)") {
                    try await call()
                }
                #expect(error?.kind == .unreachable)
                let duration = it.mount.clock.uptime - begin
                #expect(duration >= limit && duration < limit + .seconds(1), "\(attempt)")
            }
            await expectEnd(of: "stat", after: .seconds(60)) { _ = try await gate.stat(key) }
            await expectEnd(of: "create", after: .seconds(600)) {
                _ = try await gate.createDirectory(Scenario.key("new"), attributes: attributes)
            }
            await expectEnd(of: "delete", after: .seconds(600)) {
                try await gate.delete(key, kind: .file, etag: etag)
            }
            await expectEnd(of: "set the attributes", after: .seconds(3_600)) {
                _ = try await gate.setAttributes(
                    key, to: attributes, only: .all, etag: etag, nonce: nil)
            }
            await expectEnd(of: "move", after: .seconds(3_600)) {
                _ = try await gate.move(key, etag: etag, to: Scenario.key("new"), base: .absent)
            }
        }
    }
}
