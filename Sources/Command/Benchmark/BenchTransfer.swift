import Engine
import Synchronization

/// A file of random bytes, which a store can neither compress nor find among others.
struct BenchBytes: ByteSource {
    private static let block: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<(1 << 17)).flatMap { _ in
            withUnsafeBytes(of: generator.next()) { Array($0) }
        }
    }()

    let size: UInt64
    /// Where the file begins in the block, which it repeats.
    private let shift = UInt64.random(in: 0..<UInt64(block.count))

    init(size: UInt64) {
        self.size = size
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let count = Int(min(UInt64(buffer.count), size - min(size, offset)))
        var done = 0
        while done < count {
            let start = Int((shift + offset + UInt64(done)) % UInt64(Self.block.count))
            let piece = Self.block[start...].prefix(count - done)
            UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).copyBytes(from: piece)
            done += piece.count
        }
        return count
    }
}

/// Counts bytes as they arrive.
final class BenchSink: ByteSink {
    private let count = Atomic<UInt64>(0)

    var bytes: UInt64 { count.load(ordering: .relaxed) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        count.add(UInt64(bytes.count), ordering: .relaxed)
    }
}

/// An upload that can be abandoned.
final class BenchUpload: UploadSession {
    let key: ObjectKey
    private let kept = Mutex<UploadToken?>(nil)

    init(of key: ObjectKey) {
        self.key = key
    }

    var token: UploadToken? { kept.withLock(\.self) }
    var nonce: WriteNonce? { nil }

    func keep(_ token: UploadToken?) { kept.withLock { $0 = token } }
    func expect(_ etag: ETag) {}
    func noteSent(_ bytes: UInt64) {}
}
