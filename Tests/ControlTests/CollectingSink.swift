import Synchronization
import Transport

/// Keeps a whole body.
final class CollectingSink: HTTPBodySink {
    private let bytes = Mutex<[UInt8]>([])

    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) {
        self.bytes.withLock { $0.append(contentsOf: bytes) }
    }
}
