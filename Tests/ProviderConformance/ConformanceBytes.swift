import Engine
import Synchronization

/// Bytes in memory as a source; it can be told to act, or to fail, when it is read.
package struct ConformanceSource: ByteSource {
    let bytes: [UInt8]
    let onRead: @Sendable (UInt64) throws -> Void

    /// - Parameter onRead: Called before each read with its offset.
    package init(
        bytes: [UInt8], onRead: @escaping @Sendable (UInt64) throws -> Void = { _ in }
    ) {
        self.bytes = bytes
        self.onRead = onRead
    }

    package var size: UInt64 { UInt64(bytes.count) }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try onRead(offset)
        let rest = bytes[min(Int(offset), bytes.count)...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

/// A source that says it is longer than it is.
struct ConformanceShortSource: ByteSource {
    let bytes: [UInt8]
    let size: UInt64

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try ConformanceSource(bytes: bytes).read(into: buffer, at: offset)
    }
}

/// Collects bytes, and checks that they come in order and once.
final class ConformanceSink: ByteSink {
    private struct State {
        var bytes: [UInt8] = []
        var pieces = 0
        var isOrdered = true
    }

    private let start: UInt64
    private let onPiece: @Sendable (Int) throws -> Void
    private let state = Mutex(State())

    /// - Parameter onPiece: Called before each piece with its number, from 0.
    init(start: UInt64, onPiece: @escaping @Sendable (Int) throws -> Void = { _ in }) {
        self.start = start
        self.onPiece = onPiece
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        try onPiece(state.withLock { $0.pieces })
        state.withLock { state in
            state.pieces += 1
            if offset != start + UInt64(state.bytes.count) { state.isOrdered = false }
            state.bytes += Array(bytes)
        }
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var isOrdered: Bool { state.withLock { $0.isOrdered } }
}

/// What a sink or a source of a test throws.
struct ConformanceRefusal: Error, Equatable {}
