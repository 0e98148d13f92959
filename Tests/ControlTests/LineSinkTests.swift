import Testing
import Transport

@testable import Control

struct LineSinkTests {
    @Test(arguments: [1, 2, 3, 100])
    func `lines are cut at their ends, wherever the pieces end`(pieceBytes: Int) async throws {
        let sink = LineSink()
        let bytes = Array("one\n\nthree\nrest".utf8)
        for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
            try bytes[start..<min(start + pieceBytes, bytes.count)].withUnsafeBytes {
                try sink.receive($0, of: HTTPResponse(status: 200))
            }
        }
        sink.finish()
        var lines: [String] = []
        for await line in sink.lines { lines.append(String(decoding: line, as: UTF8.self)) }
        #expect(lines == ["one", "", "three", "rest"])
        #expect(!sink.isRefusal)
    }
}
