import Testing

@testable import Engine

@Suite struct SentBytesTests {
    private let movie = InodeNumber(rawValue: 7)
    private let other = InodeNumber(rawValue: 8)

    @Test func `what is sent again after a cut is counted once`() {
        var sent = SentBytes()
        sent.begin(movie, generation: 1, goesOn: false)
        sent.note(0, of: movie)
        sent.note(100, of: movie)
        // Of these, 64 have arrived.
        sent.begin(movie, generation: 1, goesOn: true)
        sent.note(64, of: movie)
        sent.note(90, of: movie)
        #expect(sent.total == 100)
        sent.note(200, of: movie)
        #expect(sent.total == 200)
    }

    @Test func `what an earlier process sent is not counted`() {
        var sent = SentBytes()
        sent.begin(movie, generation: 1, goesOn: true)
        sent.note(64, of: movie)
        #expect(sent.total == 0)
        sent.note(200, of: movie)
        #expect(sent.total == 136)
    }

    @Test func `another version, and what is sent once more, are counted anew`() {
        var sent = SentBytes()
        sent.begin(movie, generation: 1, goesOn: false)
        sent.note(10, of: movie)
        sent.begin(movie, generation: 2, goesOn: false)
        sent.note(10, of: movie)
        sent.end(movie)
        sent.begin(movie, generation: 2, goesOn: false)
        sent.note(5, of: movie)
        sent.note(10, of: other)
        #expect(sent.total == 25)
    }
}
