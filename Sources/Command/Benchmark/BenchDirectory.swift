import Engine
import Host
import Synchronization

/// A temporary directory on a source, which is removed with all that was sent into it.
final class BenchDirectory: Sendable {
    static let prefix = ".apus-bench-"

    let name: FileName
    private let provider: any Provider
    private let state = Mutex(State())

    private struct State {
        var isWanted = false
        var count = 0
        /// Uploads that are under way, or have failed.
        var unfinished: [ObjectIdentifier: BenchUpload] = [:]
    }

    /// How many requests remove files side by side.
    private static let removersMax = 8
    /// How often the directory is looked at until it is empty: the store may still be storing the last
    /// bytes of an upload that was cut off.
    private static let passesMax = 10

    init(on provider: any Provider) {
        self.provider = provider
        let word = UInt64.random(in: .min ... .max)
        let digits = String(word, radix: 16)
        let text = Self.prefix + String(repeating: "0", count: 16 - digits.count) + digits
        guard let name = FileName(text) else { preconditionFailure("\(text) is a name") }
        self.name = name
    }

    var key: ObjectKey { .root.appending(name) }

    func create() async throws(ProviderError) {
        // It may be there even if the answer gets lost.
        state.withLock { $0.isWanted = true }
        _ = try await provider.createDirectory(key, attributes: Self.attributes(mode: 0o700))
    }

    /// Stores a file of random bytes.
    func write(_ bytes: UInt64) async throws(ProviderError) -> BenchFile {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        guard let name = FileName("\(number)") else { preconditionFailure("a number is a name") }
        let key = key.appending(name)
        let upload = BenchUpload(of: key)
        let id = ObjectIdentifier(upload)
        state.withLock { $0.unfinished[id] = upload }
        let object = try await provider.write(
            key, from: BenchBytes(size: bytes), attributes: Self.attributes(mode: 0o600),
            base: .absent, session: upload)
        state.withLock { $0.unfinished[id] = nil }
        return BenchFile(key: key, object: object)
    }

    private static func attributes(mode: UInt16) -> ObjectAttributes {
        ObjectAttributes(modified: SystemClock().wallTime, mode: mode)
    }

    /// Removes the files; the directory stays.
    func empty() async throws(ProviderError) {
        let files = try await provider.objects(in: key)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, file) in files.enumerated() {
                    if index >= Self.removersMax { try await group.next() }
                    group.addTask { [key] in try await self.remove(file, in: key) }
                }
                try await group.waitForAll()
            }
        } catch let error as ProviderError {
            throw error
        } catch {
            throw ProviderError(.cancelled, "\(error)")
        }
    }

    private func remove(_ file: RemoteObject, in key: ObjectKey) async throws(ProviderError) {
        do throws(ProviderError) {
            try await provider.delete(
                key.appending(file.name), kind: file.kind, etag: file.etag)
        } catch  where error.kind == .missing || error.kind == .changed {
            // The next pass finds the other version.
        }
    }

    /// Removes everything, also after an interruption. Has no effect if nothing was made.
    func remove() async throws(ProviderError) {
        guard state.withLock(\.isWanted) else { return }
        let unfinished = state.withLock { Array($0.unfinished.values) }
        for upload in unfinished {
            if let token = upload.token { try? await provider.abandon(token, of: upload.key) }
        }
        if !unfinished.isEmpty { await pause() }
        for pass in 1...Self.passesMax {
            do throws(ProviderError) {
                try await empty()
                try await provider.delete(key, kind: .directory, etag: nil)
                return
            } catch  where error.kind == .missing {
                return
            } catch  where pass < Self.passesMax && (error.kind == .notEmpty || error.isPassing) {
                await pause()
            }
        }
    }

    private func pause() async { try? await Task.sleep(for: .seconds(1)) }
}

/// A file that is read.
struct BenchFile: Sendable {
    let key: ObjectKey
    let etag: ETag
    let size: UInt64

    init(key: ObjectKey, object: RemoteObject) {
        self.key = key
        etag = object.etag ?? ETag("")
        size = object.size
    }
}

extension Provider {
    /// Returns all entries of a directory.
    func objects(in directory: ObjectKey) async throws(ProviderError) -> [RemoteObject] {
        let cursor = entries(of: directory)
        var objects: [RemoteObject] = []
        while true {
            let page = try await cursor.next()
            objects += page.objects
            if page.isLast { return objects }
        }
    }
}
