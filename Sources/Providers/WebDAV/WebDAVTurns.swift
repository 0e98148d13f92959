import Engine
import Synchronization

/// Lets changes of one file follow one another, where a server looks at a condition first and acts
/// on it a moment later.
final class WebDAVTurns: Sendable {
    private let waiting = Mutex<[ObjectKey: [CheckedContinuation<Void, Never>]]>([:])

    func taking<Value: Sendable>(
        _ key: ObjectKey, _ body: () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        await begin(key)
        defer { end(key) }
        return try await body()
    }

    private func begin(_ key: ObjectKey) async {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                guard waiting[key] != nil else {
                    waiting[key] = []
                    return true
                }
                waiting[key]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func end(_ key: ObjectKey) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard let queue = waiting[key], !queue.isEmpty else {
                waiting[key] = nil
                return nil
            }
            return waiting[key]?.removeFirst()
        }
        next?.resume()
    }
}
