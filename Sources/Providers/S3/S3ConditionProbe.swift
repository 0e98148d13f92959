import Engine
import ProviderSupport
import Synchronization

/// Finds out which conditions a store honours, before the first change of a mount.
///
/// It writes a small object below the prefix and removes it again. A store that ignores a condition
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

    func conditions() async throws(ProviderError) -> S3Conditions {
        if let known = known.withLock({ $0 }) { return known }
        return try await turns.with([.root]) { () async throws(ProviderError) in
            if let known = known.withLock({ $0 }) { return known }
            let conditions = try await probe()
            known.withLock { $0 = conditions }
            // Not awaited, since it may have to inspect many uploads.
            Task { [leftUploads] in await leftUploads.abortLeftCopies() }
            return conditions
        }
    }

    private func probe() async throws(ProviderError) -> S3Conditions {
        let key = prefix.appending(S3Probe.newName().utf8)
        let copy = key.appending("-copy".utf8)
        let none = ETag("00000000000000000000000000000000")
        try await removeLeftProbes()
        var conditions = S3Conditions()
        do throws(ProviderError) {
            let etag = try await client.put(key, [1], headers: [], nil)
            conditions.putIfAbsent = try await isRefused(
                try await client.put(key, [1], headers: [], .absent))
            conditions.putIfVersion = try await isRefused(
                try await client.put(key, [1], headers: [], .version(none)))
            conditions.copyIfSource = try await isRefused(
                try await client.copy(
                    key, etag: none, to: copy, headers: nil, storageClass: nil, nil))
            conditions.copyIfAbsent = try await isRefused(
                try await client.copy(
                    key, etag: etag, to: key, headers: [], storageClass: nil, .absent))
            conditions.copyIfVersion = try await isRefused(
                try await client.copy(
                    key, etag: etag, to: key, headers: [], storageClass: nil, .version(none)))
            conditions.deleteIfVersion = try await isRefused(
                try await client.delete(key, etag: none))
            try await removeLeftovers(besides: key)
            // Last, since the object may be gone afterwards.
            conditions.batchIfVersion = false
            if conditions.deleteIfVersion {
                conditions.batchIfVersion = try await honoursVersionInBatch(key, none)
            }
            try await client.delete(key, etag: nil)
            conditions.keepsBackslash = try await keepsBackslash(key)
            if !conditions.copyIfSource { try await client.delete(copy, etag: nil) }
            return conditions
        } catch {
            leftProbes.withLock { $0 += [key, copy, Self.backslashed(key)] }
            // The first failure says more than one of the clean-up. Objects that cannot be removed
            // now, for instance because the credentials are refused, are removed before the next
            // change.
            try? await removeLeftProbes()
            throw error
        }
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

    private func keepsBackslash(_ probe: S3Key) async throws(ProviderError) -> Bool {
        // At the end of the key: a store that takes it for a slash then makes a marker, which can be
        // removed, and not a directory.
        let key = Self.backslashed(probe)
        _ = try await client.put(key, [1], headers: [], nil)
        let listing = try await client.list(prefix: probe, delimiter: false, max: 2)
        try await client.delete(key, etag: nil)
        return listing.objects.contains { $0.key == key }
    }

    private static func backslashed(_ probe: S3Key) -> S3Key { probe.appending("-\\".utf8) }

    // MARK: Cleaning up

    /// Removes the objects of an earlier test of this mount.
    private func removeLeftProbes() async throws(ProviderError) {
        for key in leftProbes.withLock({ $0 }) {
            do throws(ProviderError) {
                try await client.delete(key, etag: nil)
            } catch {
                // Some stores say so of an object that was never created.
                guard error.kind == .missing else { throw error }
            }
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
            try await client.delete(object.key, etag: nil)
        }
    }
}
