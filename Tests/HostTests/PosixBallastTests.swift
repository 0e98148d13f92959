import CLinux
import Foundation
import Testing

@testable import Host

@Suite("Room for the database") struct PosixBallastTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func allocatedBytes() throws -> UInt64 {
        var status = stat()
        try #require(stat("\(directory.path)/\(PosixBallast.name)", &status) == 0)
        return UInt64(status.st_blocks) * 512
    }

    @Test func `reserves blocks, gives them up piece by piece, and takes them back`() throws {
        let ballast = try PosixBallast(directory: directory.path)
        let whole = ballast.heldBytes
        #expect(whole > 0)
        #expect(try allocatedBytes() >= whole)

        #expect(ballast.giveUp())
        let rest = try allocatedBytes()
        #expect(rest < whole && ballast.heldBytes < whole)
        while ballast.giveUp() {}
        #expect(try allocatedBytes() == 0)
        #expect(ballast.heldBytes == 0)

        #expect(ballast.restore())
        #expect(try allocatedBytes() >= whole)
    }

    @Test func `keeps the blocks of an earlier mount, unless they are holes`() throws {
        var ballast: PosixBallast? = try PosixBallast(directory: directory.path)
        let whole = try #require(ballast?.heldBytes)
        ballast = nil
        let path = "\(directory.path)/\(PosixBallast.name)"
        #expect(truncate(path, 0) == 0 && truncate(path, off_t(whole)) == 0)
        ballast = try PosixBallast(directory: directory.path)
        #expect(ballast?.heldBytes == whole)
        #expect(try allocatedBytes() >= whole, "a hole is no room")
    }
}
