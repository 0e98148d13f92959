import Engine
import Synchronization
package import Transport

extension HTTPRequest {
    /// Makes it report the bytes of its answer to the caller of the provider, see ``SignOfLife``.
    package mutating func reportSigns() {
        guard let note = SignOfLife.note else { return }
        let report = SignReport(note: note)
        let observer = onProgress
        onProgress = { sent, received in
            report.note(received)
            observer?(sent, received)
        }
    }
}

private final class SignReport: Sendable {
    private let note: @Sendable () -> Void
    private let received = Mutex<UInt64>(0)

    init(note: @escaping @Sendable () -> Void) {
        self.note = note
    }

    func note(_ bytes: UInt64) {
        let isMore = received.withLock { received in
            defer { received = max(received, bytes) }
            return bytes > received
        }
        if isMore { note() }
    }
}
