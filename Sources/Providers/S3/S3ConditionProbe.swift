import Engine
import ProviderSupport
import Synchronization

/// Finds out which conditions a store honours, once for each mount and before its first change is sent.
///
/// It writes small objects below the prefix and removes them again. A store that ignores a condition
/// gives no sign of it, so the first real use would not tell; and a mount that only reads must not
/// write.
final class S3ConditionProbe: Sendable {
    private let client: S3Client
    private let leftUploads: S3LeftUploads
    /// nil until the store has been tested.
    let known = Mutex<S3Conditions?>(nil)
    /// Lets one task at a time test the store.
    private let turns = KeyedMutex()
    /// Objects of a failed test that the store did not let us remove.
    private let leftProbes = Mutex<[S3Key]>([])

    private var prefix: S3Key { client.settings.prefix }

    init(_ client: S3Client, leftUploads: S3LeftUploads) {
        self.client = client
        self.leftUploads = leftUploads
    }

    var isNeeded: Bool { known.withLock { $0 == nil } }

    func conditions() async throws(ProviderError) -> S3Conditions {
        if let known = known.withLock({ $0 }) { return known }
        return try await turns.with([.root]) { () async throws(ProviderError) in
            if let known = known.withLock({ $0 }) { return known }
            // To its end: a request that is cancelled may still be carried out, after the clean-up.
            let conditions = try await finishing { () async throws(ProviderError) in
                try await self.probe()
            }
            known.withLock { $0 = conditions }
            // Not awaited, since it may have to inspect many uploads.
            Task { [leftUploads] in await leftUploads.abortLeftCopies() }
            return conditions
        }
    }

    private func probe() async throws(ProviderError) -> S3Conditions {
        let keys = Keys(prefix.appending(S3Probe.newName().utf8))
        try await removeLeftProbes()
        var conditions = S3Conditions()
        var failure: ProviderError?
        // Side by side, as each request takes a round trip; on an object each, as a store may refuse a
        // change only because of another one at the same time.
        try await concurrently(Subject.allCases, atMost: Subject.allCases.count) {
            subject async throws(ProviderError) -> Result<S3Conditions, ProviderError> in
            // None cancels the others, for the same reason.
            do throws(ProviderError) {
                return .success(try await self.test(subject, keys))
            } catch {
                return .failure(error)
            }
        } result: { result in
            switch result {
            case .success(let found): conditions.restrict(to: found)
            case .failure(let error): failure = failure ?? error
            }
        }
        guard let failure else { return conditions }
        leftProbes.withLock { $0 += keys.all }
        // The first failure says more than one of the clean-up. Objects that cannot be removed now, for
        // instance because the credentials are refused, are removed before the next change.
        try? await removeLeftProbes()
        throw failureOfTest(failure)
    }

    /// Returns a failure that does not pass for the outcome of the change that waits for the test.
    private func failureOfTest(_ failure: ProviderError) -> ProviderError {
        switch failure.kind {
        case .changed, .missing, .exists, .notEmpty, .wrongKind:
            ProviderError(.busy, "the store could not be tested: \(failure)", cause: failure)
        default: failure
        }
    }

    // MARK: Tests

    private enum Subject: CaseIterable {
        case puts, copies, deletions, names
    }

    /// The names of the objects of all tests.
    private struct Keys {
        let put, copied, copy, deleted, backslashed: S3Key

        init(_ name: S3Key) {
            put = name.appending("-put".utf8)
            copied = name.appending("-copied".utf8)
            copy = name.appending("-copy".utf8)
            deleted = name.appending("-deleted".utf8)
            // At the end: a store that takes it for a slash then makes a marker, which can be removed, and
            // not a directory.
            backslashed = name.appending("-name\\".utf8)
        }

        var all: [S3Key] { [put, copied, copy, deleted, backslashed] }
    }

    private func test(
        _ subject: Subject, _ keys: Keys
    ) async throws(ProviderError) -> S3Conditions {
        switch subject {
        case .puts: try await testPuts(keys.put)
        case .copies: try await testCopies(keys.copied, to: keys.copy)
        case .deletions: try await testDeletions(keys.deleted)
        case .names: try await testName(keys.backslashed)
        }
    }

    /// A version that no object has.
    private static let none = ETag("00000000000000000000000000000000")

    private func testPuts(_ key: S3Key) async throws(ProviderError) -> S3Conditions {
        var conditions = S3Conditions()
        _ = try await client.put(key, [1], headers: [], nil)
        conditions.putIfAbsent = try await isRefused(
            try await client.put(key, [1], headers: [], .absent))
        conditions.putIfVersion = try await isRefused(
            try await client.put(key, [1], headers: [], .version(Self.none)))
        try await client.remove(key)
        return conditions
    }

    private func testCopies(
        _ key: S3Key, to copy: S3Key
    ) async throws(ProviderError) -> S3Conditions {
        var conditions = S3Conditions()
        let etag = try await client.put(key, [1], headers: [], nil)
        conditions.copyIfSource = try await isRefused(
            try await client.copy(
                key, etag: Self.none, to: copy, headers: nil, storageClass: nil, nil))
        conditions.copyIfAbsent = try await isRefused(
            try await client.copy(
                key, etag: etag, to: key, headers: [], storageClass: nil, .absent))
        conditions.copyIfVersion = try await isRefused(
            try await client.copy(
                key, etag: etag, to: key, headers: [], storageClass: nil, .version(Self.none)))
        try await client.remove(key)
        if !conditions.copyIfSource { try await client.remove(copy) }
        return conditions
    }

    private func testDeletions(_ key: S3Key) async throws(ProviderError) -> S3Conditions {
        var conditions = S3Conditions()
        _ = try await client.put(key, [1], headers: [], nil)
        try await removeLeftovers(besides: key)
        conditions.deleteIfVersion = try await isRefused(
            try await client.delete(key, etag: Self.none))
        // Last, since the object may be gone afterwards.
        conditions.batchIfVersion = false
        if conditions.deleteIfVersion {
            conditions.batchIfVersion = try await honoursVersionInBatch(key, Self.none)
        }
        try await client.remove(key)
        return conditions
    }

    /// - Parameter key: Ends in a backslash.
    private func testName(_ key: S3Key) async throws(ProviderError) -> S3Conditions {
        var conditions = S3Conditions()
        _ = try await client.put(key, [1], headers: [], nil)
        let listing = try await client.list(
            prefix: S3Key(key.bytes.dropLast()), delimiter: false, max: 2)
        try await client.remove(key)
        conditions.keepsBackslash = listing.objects.contains { $0.key == key }
        return conditions
    }

    /// Whether the store refuses a change whose condition is not met. A store that rejects the
    /// condition itself as unknown does not honour it either.
    private func isRefused(
        _ change: @autoclosure () async throws(ProviderError) -> some Sendable
    ) async throws(ProviderError) -> Bool {
        do throws(ProviderError) {
            _ = try await change()
            return false
        } catch {
            switch error.kind {
            case .changed: return true
            case .unsupported: return false
            default: throw error
            }
        }
    }

    private func honoursVersionInBatch(
        _ probe: S3Key, _ other: ETag
    ) async throws(ProviderError) -> Bool {
        do throws(ProviderError) {
            // A refusal for any other reason proves nothing.
            let refused = try await client.delete([(probe, other)]).refused
            return refused[probe] == "PreconditionFailed"
        } catch {
            // Some stores lack this request, and Apus can do without it.
            if error.kind == .cancelled { throw error }
            return false
        }
    }

    // MARK: Cleaning up

    /// Removes the objects of an earlier test of this mount.
    private func removeLeftProbes() async throws(ProviderError) {
        for key in leftProbes.withLock({ $0 }) {
            try await client.remove(key)
            leftProbes.withLock { $0.removeAll { $0 == key } }
        }
    }

    /// Removes objects that a daemon killed during a test left more than ten minutes ago, by the
    /// store's clock.
    private func removeLeftovers(besides probe: S3Key) async throws(ProviderError) {
        let found = try await client.list(
            prefix: prefix.appending(S3Probe.prefix.utf8), delimiter: false)
        guard let now = found.objects.first(where: { $0.key == probe })?.modified else { return }
        for object in found.objects
        where S3Probe.isProbe(object.key.bytes.dropFirst(prefix.bytes.count))
            && object.modified.nanoseconds < now.nanoseconds - 600_000_000_000
        {
            try await client.remove(object.key)
        }
    }
}
