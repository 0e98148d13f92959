import Testing

@testable import Engine

@Suite("First bytes that came with a lookup") struct FirstBytesTests {
    private let bytes = FirstBytes()
    private let etag = ETag("one")

    @Test func `are given once`() {
        bytes.keep([1, 2], of: InodeNumber(rawValue: 2), etag, at: .zero)
        #expect(bytes.take(of: InodeNumber(rawValue: 3), etag, at: .zero) == nil)
        #expect(bytes.take(of: InodeNumber(rawValue: 2), etag, at: .zero) == [1, 2])
        #expect(bytes.take(of: InodeNumber(rawValue: 2), etag, at: .zero) == nil)
    }

    @Test func `are only those of the version that is asked for`() {
        bytes.keep([1], of: InodeNumber(rawValue: 2), etag, at: .zero)
        #expect(bytes.take(of: InodeNumber(rawValue: 2), ETag("two"), at: .zero) == nil)
        bytes.keep([1], of: InodeNumber(rawValue: 2), etag, at: .zero)
        bytes.keep([2], of: InodeNumber(rawValue: 2), ETag("two"), at: .zero)
        #expect(bytes.take(of: InodeNumber(rawValue: 2), ETag("two"), at: .zero) == [2])
    }

    @Test func `are forgotten after half a second, as another client may replace the file`() {
        bytes.keep([1], of: InodeNumber(rawValue: 2), etag, at: .seconds(1))
        bytes.keep([2], of: InodeNumber(rawValue: 3), etag, at: .seconds(1))
        #expect(bytes.take(of: InodeNumber(rawValue: 2), etag, at: .milliseconds(1_500)) == [1])
        #expect(bytes.take(of: InodeNumber(rawValue: 3), etag, at: .milliseconds(1_501)) == nil)
    }

    @Test func `are those of the last few files`() {
        for number in 0...FirstBytes.filesMax {
            bytes.keep([1], of: InodeNumber(rawValue: Int64(number) + 2), etag, at: .zero)
        }
        #expect(bytes.take(of: InodeNumber(rawValue: 2), etag, at: .zero) == nil)
        #expect(bytes.take(of: InodeNumber(rawValue: 3), etag, at: .zero) == [1])
    }
}
