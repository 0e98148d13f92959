import Foundation
import Glibc
import Testing

@testable import Host

@Suite struct DiskUsageTests {
    @Test func `all files below count by the space that they take`() throws {
        let directory = try TemporaryDirectory()
        let deep = directory.path + "/a/b"
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        let empty = try #require(DiskUsage.bytes(ofDirectory: directory.path) { _ in })
        try Data(repeating: 7, count: 1 << 20).write(to: URL(filePath: deep + "/full"))
        try Data().write(to: URL(filePath: deep + "/sparse"))
        #expect(truncate(deep + "/sparse", 1 << 30) == 0)
        var files = 0
        let bytes = DiskUsage.bytes(ofDirectory: directory.path) { files = $0 }
        #expect(files == 2)
        #expect(try #require(bytes) - empty >= 1 << 20)
        #expect(try #require(bytes) - empty < 2 << 20)
        #expect(DiskUsage.bytes(ofDirectory: directory.path + "/none") { _ in } == nil)
    }
}
