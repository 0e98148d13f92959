import Engine
import Glibc
import ProviderSupport
import Synchronization
import Transport

/// Compares a range of a file on the server with the bytes that were sent there, up to the first
/// difference.
final class RangeComparison: HTTPBodySink {
    private struct State {
        var count: UInt64 = 0
        var failure: (any Error)?
    }

    private struct Difference: Error {}

    private let range: Range<UInt64>
    private let source: any ByteSource
    private let state = Mutex(State())

    init(_ range: Range<UInt64>, of source: any ByteSource) {
        self.range = range
        self.source = source
    }

    /// The bytes from the start of the range that are the same.
    var count: UInt64 { state.withLock(\.count) }

    /// The error that the source threw.
    var failure: (any Error)? { state.withLock(\.failure) }

    /// - Throws: To end the transfer, once nothing more can be the same.
    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        guard (200..<300).contains(response.status) else { return }
        let content = response.headers["Content-Range"].flatMap(ContentRange.init)
        guard response.status == 206, content?.range == range else { throw Difference() }
        let offset = range.lowerBound + count
        guard UInt64(bytes.count) <= range.upperBound - offset else { throw Difference() }
        let same: Int
        do {
            same = try equalBytes(bytes, at: offset)
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
        state.withLock { $0.count += UInt64(same) }
        guard same == bytes.count else { throw Difference() }
    }

    /// Returns the number of bytes before the first difference.
    private func equalBytes(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws -> Int {
        try withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 16) { buffer in
            let count = try source.read(into: buffer, at: offset)
            guard let read = buffer.baseAddress, let sent = bytes.baseAddress else { return 0 }
            if memcmp(read, sent, count) == 0 { return count }
            return zip(buffer, bytes).prefix { $0 == $1 }.count
        }
    }
}
