import Testing

@testable import Engine

@Suite struct LongWriterTests {
    private static let rules = LongWriter.Rules(interval: .seconds(30), pause: .seconds(5))

    private var writer = LongWriter()

    private mutating func next(isCostly: Bool = false, at now: Duration) -> Duration {
        writer.nextUpload(isCostly: isCostly, at: now, Self.rules)
    }

    @Test mutating func `the first upload comes an interval after the first change`() {
        writer.noteChange(at: .seconds(10), Self.rules)
        writer.noteChange(at: .seconds(25), Self.rules)
        #expect(next(at: .seconds(25)) == .seconds(40))
    }

    /// It was changed, closed, and opened for writing again before its upload.
    @Test
    mutating func `a file opened with changes is uploaded an interval after the first question`() {
        #expect(next(at: .seconds(10)) == .seconds(40))
        #expect(next(at: .seconds(40)) == .seconds(40))
        #expect(next(isCostly: true, at: .seconds(40)) == .seconds(40))
    }

    @Test mutating func `uploads take at most a tenth of the time`() {
        writer.noteChange(at: .zero, Self.rules)
        writer.noteStart(at: .seconds(30), Self.rules)
        writer.noteEnd(startedAt: .seconds(30), at: .seconds(40), Self.rules)
        #expect(next(at: .seconds(40)) == .seconds(40 + 90))
        writer.noteStart(at: .seconds(130), Self.rules)
        writer.noteEnd(startedAt: .seconds(130), at: .seconds(131), Self.rules)
        #expect(next(at: .seconds(131)) == .seconds(131 + 30))
    }

    @Test mutating func `a costly one waits for a pause`() {
        writer.noteChange(at: .zero, Self.rules)
        #expect(next(isCostly: true, at: .zero) == .seconds(30))
        writer.noteChange(at: .seconds(29), Self.rules)
        #expect(next(isCostly: true, at: .seconds(30)) == .seconds(34))
        #expect(next(at: .seconds(30)) == .seconds(30))
    }

    @Test mutating func `a request makes it due once`() {
        writer.noteChange(at: .zero, Self.rules)
        writer.request()
        #expect(next(isCostly: true, at: .seconds(1)) == .seconds(1))
        writer.noteStart(at: .seconds(1), Self.rules)
        #expect(next(at: .seconds(1)) == .seconds(31))
    }
}
