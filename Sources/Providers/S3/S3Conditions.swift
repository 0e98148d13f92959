import Engine
import Synchronization

/// Which conditions a store heeds. Where it heeds one, the store decides; where not, we look
/// first, and what another client does in between goes unnoticed.
struct S3Conditions: Hashable, Sendable {
    /// `If-None-Match: *` on PUT.
    var putIfAbsent = true
    /// `If-Match` on PUT.
    var putIfVersion = true
    /// `If-Match` on DELETE.
    var deleteIfVersion = true
    /// An `ETag` for each object that is deleted in one request with others.
    var batchIfVersion = true
    /// `x-amz-copy-source-if-match`.
    var copyIfSource = true
    /// `If-None-Match: *` on a copy.
    var copyIfAbsent = true
    /// `If-Match` on a copy.
    var copyIfVersion = true
    /// Whether `\` is a character like any other; SeaweedFS takes it for `/`.
    var keepsBackslash = true

    func onPut(_ condition: S3Condition) -> S3Condition? {
        switch condition {
        case .absent: putIfAbsent ? condition : nil
        case .version: putIfVersion ? condition : nil
        }
    }

    func onCopy(_ condition: S3Condition) -> S3Condition? {
        switch condition {
        case .absent: copyIfAbsent ? condition : nil
        case .version: copyIfVersion ? condition : nil
        }
    }
}

extension S3Provider {
    /// What the store heeds: found out before the first change of a mount, with a small object
    /// below the prefix that is removed again. A store that ignores a condition says nothing, so
    /// the first use would not tell; and a mount that only reads must not write.
    func conditions(_ attempt: String) async throws(ProviderError) -> S3Conditions {
        try checkCancelled(attempt)
        if let known = knownConditions.withLock({ $0 }) { return known }
        return try await probing.with([.root]) { () async throws(ProviderError) in
            if let known = knownConditions.withLock({ $0 }) { return known }
            let conditions = try await probe(attempt)
            knownConditions.withLock { $0 = conditions }
            // Nobody waits for it: there may be many uploads to look into.
            Task { await abortLeftCopies(attempt) }
            return conditions
        }
    }

    private func probe(_ attempt: String) async throws(ProviderError) -> S3Conditions {
        let key = keys.prefix.appending(S3Probe.newName().utf8)
        let copy = key.appending("-copy".utf8)
        let none = ETag("00000000000000000000000000000000")
        let client = client
        try await removeLeftProbes(attempt)
        var conditions = S3Conditions()
        do throws(ProviderError) {
            let etag = try await client.put(key, [1], headers: [], nil, attempt)
            conditions.putIfAbsent = try await isRefused { () async throws(ProviderError) in
                _ = try await client.put(key, [1], headers: [], .absent, attempt)
            }
            conditions.putIfVersion = try await isRefused { () async throws(ProviderError) in
                _ = try await client.put(key, [1], headers: [], .version(none), attempt)
            }
            conditions.copyIfSource = try await isRefused { () async throws(ProviderError) in
                _ = try await client.copy(
                    key, etag: none, to: copy, headers: nil, storageClass: nil, nil, attempt)
            }
            conditions.copyIfAbsent = try await isRefused { () async throws(ProviderError) in
                _ = try await client.copy(
                    key, etag: etag, to: key, headers: [], storageClass: nil, .absent, attempt)
            }
            conditions.copyIfVersion = try await isRefused { () async throws(ProviderError) in
                _ = try await client.copy(
                    key, etag: etag, to: key, headers: [], storageClass: nil, .version(none),
                    attempt)
            }
            conditions.deleteIfVersion = try await isRefused { () async throws(ProviderError) in
                try await client.delete(key, etag: none, attempt)
            }
            try await removeLeftovers(besides: key, attempt)
            // After it, since the probe may be gone then.
            conditions.batchIfVersion = false
            if conditions.deleteIfVersion {
                conditions.batchIfVersion = try await heedsVersionInBatch(key, none, attempt)
            }
            try await client.delete(key, etag: nil, attempt)
            conditions.keepsBackslash = try await keepsBackslash(key, attempt)
            if !conditions.copyIfSource { try await client.delete(copy, etag: nil, attempt) }
            return conditions
        } catch {
            leftProbes.withLock { $0 += [key, copy, Self.backslashed(key)] }
            // The first failure tells more than one in cleaning up would. What cannot be removed
            // now, as where the credentials are refused, is before the next change.
            try? await removeLeftProbes(attempt)
            throw error
        }
    }

    /// Removes what an earlier try of this mount left.
    private func removeLeftProbes(_ attempt: String) async throws(ProviderError) {
        for key in leftProbes.withLock({ $0 }) {
            do throws(ProviderError) {
                try await client.delete(key, etag: nil, attempt)
            } catch {
                // Some stores say so of what never came to be.
                guard error.kind == .missing else { throw error }
            }
            leftProbes.withLock { $0.removeAll { $0 == key } }
        }
    }

    private static func backslashed(_ probe: S3Key) -> S3Key { probe.appending("-\\".utf8) }

    private func heedsVersionInBatch(
        _ probe: S3Key, _ other: ETag, _ attempt: String
    ) async throws(ProviderError) -> Bool {
        do throws(ProviderError) {
            // Refused for another reason, it says nothing.
            let refused = try await client.delete([(probe, other)], attempt).refused
            return refused[probe] == "PreconditionFailed"
        } catch {
            // Not every store has this request, and nobody needs it.
            if error.kind == .cancelled { throw error }
            return false
        }
    }

    private func keepsBackslash(
        _ probe: S3Key, _ attempt: String
    ) async throws(ProviderError) -> Bool {
        // At the end, where a slash makes a marker, which goes again, and not a directory.
        let key = Self.backslashed(probe)
        _ = try await client.put(key, [1], headers: [], nil, attempt)
        let listing = try await client.list(prefix: probe, delimiter: false, max: 2, attempt)
        try await client.delete(key, etag: nil, attempt)
        return listing.objects.contains { $0.key == key }
    }

    /// Removes what a daemon that was killed amid this left here, by the store's own clock.
    private func removeLeftovers(
        besides probe: S3Key, _ attempt: String
    ) async throws(ProviderError) {
        let found = try await client.list(
            prefix: keys.prefix.appending(S3Probe.prefix.utf8), delimiter: false, attempt)
        guard let now = found.objects.first(where: { $0.key == probe })?.modified else { return }
        for object in found.objects
        where S3Probe.isProbe(object.key.bytes.dropFirst(keys.prefix.bytes.count))
            && object.modified.nanoseconds < now.nanoseconds - 600_000_000_000
        {
            try await client.delete(object.key, etag: nil, attempt)
        }
    }

    /// - Throws: `.unsupported` for a key that the store would keep under another name.
    func checkKept(_ key: S3Key, _ attempt: String) async throws(ProviderError) {
        guard key.bytes.contains(UInt8(ascii: "\\")) else { return }
        guard try await conditions(attempt).keepsBackslash else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "this store keeps no name with \"\\\"",
                remedy: Self.renaming)
        }
    }

    /// Whether a condition that does not hold is heeded. A store that will hear nothing of the
    /// condition itself does not heed it either.
    private func isRefused(
        _ change: () async throws(ProviderError) -> Void
    ) async throws(ProviderError) -> Bool {
        do throws(ProviderError) {
            try await change()
            return false
        } catch {
            switch error.kind {
            case .changed: return true
            case .unsupported: return false
            default: throw error
            }
        }
    }
}

/// The names of the objects with which a store is tried out: `.apus-probe-` and 16 hexadecimal
/// digits, and whatever follows. They are not listed, and nothing else gets such a name.
enum S3Probe {
    static let prefix = ".apus-probe-"
    private static let digits = 16

    static func newName() -> String {
        let text = String(UInt64.random(in: .min ... .max), radix: 16)
        return prefix + String(repeating: "0", count: digits - text.count) + text
    }

    /// - Parameter part: What follows the directory in a key.
    static func isProbe(_ part: some Collection<UInt8>) -> Bool {
        let found = part.dropFirst(prefix.utf8.count).prefix(digits)
        return part.starts(with: prefix.utf8) && found.count == digits
            && found.allSatisfy("0123456789abcdef".utf8.contains)
    }
}
