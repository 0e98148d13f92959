import Foundation
import Glibc
import SystemCalls
import Testing

/// Only as root, who may change routes.
@Suite("Changes of the network", .enabled(if: geteuid() == 0), .timeLimit(.minutes(1)))
struct RouteChangesTests {
    /// Changes the route to an address that is for documentation only (RFC 5737).
    private static func ip(_ action: String) throws {
        let program = Process()
        program.executableURL = URL(filePath: "/usr/bin/env")
        program.arguments = ["ip", "route", action, "blackhole", "198.51.100.77/32"]
        try program.run()
        program.waitUntilExit()
        try #require(program.terminationStatus == 0)
    }

    @Test func `are reported, each burst once, until the end`() throws {
        let changes = try RouteChanges()
        try Self.ip("add")
        #expect(changes.awaitChange())
        try Self.ip("del")
        #expect(changes.awaitChange())
        changes.close()
        #expect(!changes.awaitChange())
    }
}
