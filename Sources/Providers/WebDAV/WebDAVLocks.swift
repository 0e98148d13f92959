import Engine
import ProviderSupport
import Transport

/// An exclusive lock that we hold on a resource (RFC 4918, 6).
struct WebDAVLock: Hashable, Sendable {
    let key: ObjectKey
    let url: String
    /// `<opaquelocktoken:…>`, with its brackets.
    let token: String

    /// The condition that lets a request through this lock.
    var condition: String { "<\(url)> (\(token))" }
}

extension [WebDAVLock] {
    /// The header `If` for a request guarded by these locks; none if there are none.
    var headers: [(name: String, value: String)] {
        isEmpty ? [] : [("If", map(\.condition).joined(separator: " "))]
    }
}

/// Takes exclusive locks and gives them back.
struct WebDAVLocks: Sendable {
    let lookup: WebDAVLookup

    /// How long the server keeps a lock of ours after we die. It excludes us and others.
    private static let lockSeconds = 60
    /// How long to wait for another client's lock.
    static let patience: Duration = .seconds(10)

    /// Runs `body` with locks on all of `keys`, taken in an order that prevents deadlocks.
    ///
    /// - Parameter depth: `0`, or `infinity` to prevent changes below a directory.
    func locking<Value: Sendable>(
        _ keys: [ObjectKey], depth: String = "0",
        _ body: ([WebDAVLock]) async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        var locks: [WebDAVLock] = []
        do throws(ProviderError) {
            for key in keys.sorted(by: { $0.names.lexicographicallyPrecedes($1.names) }) {
                locks.append(try await lock(key, depth: depth))
            }
            let value = try await body(locks)
            await unlock(locks)
            return value
        } catch {
            await unlock(locks)
            throw error
        }
    }

    private func lock(
        _ key: ObjectKey, depth: String
    ) async throws(ProviderError) -> WebDAVLock {
        let deadline = lookup.clock.uptime + Self.patience
        var pause = Duration.milliseconds(5)
        while true {
            if let lock = try await tryLock(key, depth: depth) { return lock }
            guard lookup.clock.uptime < deadline else {
                throw ProviderError(.busy, "another client has locked \"\(key)\"")
            }
            try await lookup.clock.wait(pause * Int.random(in: 1...4))
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    /// - Returns: nil if another client has locked it.
    private func tryLock(
        _ key: ObjectKey, depth: String
    ) async throws(ProviderError) -> WebDAVLock? {
        // In nginx an infinite lock covers the entries below only if its URL ends in a slash.
        let url = lookup.client.address.url(key, isCollection: depth == "infinity")
        let body = WebDAVClient.xml(
            "D:lockinfo",
            "<D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>"
                + "<D:owner>apus</D:owner>")
        let answer = try await cleaningUp { () async throws(ProviderError) in
            try await lookup.client.send(
                .lock, url,
                headers: [
                    ("Depth", depth), ("Timeout", "Second-\(Self.lockSeconds)"),
                    ("Content-Type", WebDAVClient.xmlType),
                ], body: .bytes(body))
        }
        if answer.status == 423 { return nil }
        guard (200..<300).contains(answer.response.status) else {
            throw await lookup.explained(answer, key)
        }
        guard let token = answer.response.headers["Lock-Token"], token.hasPrefix("<"),
            token.hasSuffix(">")
        else { throw ProviderError(.corrupt, "the server gave a lock without a token") }
        let lock = WebDAVLock(key: key, url: url, token: token)
        guard answer.response.status == 201 else { return lock }
        // We lock only existing resources. The lock created this one, so it was deleted before.
        await removeCreated(by: lock)
        throw ProviderError(.missing, "\"\(key)\" no longer exists")
    }

    /// Removes the empty file that a lock on a free name creates (RFC 4918, 7.3), while the lock still
    /// keeps other clients from writing to it.
    private func removeCreated(by lock: WebDAVLock) async {
        _ = try? await cleaningUp { () async throws(ProviderError) in
            guard let created = try await lookup.entry(at: lock.key), !created.isCollection,
                created.size == 0
            else { return }
            _ = try await lookup.client.send(.delete, lock.url, headers: [lock].headers)
        }
        await unlock([lock])
    }

    /// Gives locks back. Failures do not matter: a lock ends with its resource or after a minute.
    private func unlock(_ locks: [WebDAVLock]) async {
        for lock in locks.reversed() {
            _ = try? await cleaningUp { () async throws(ProviderError) in
                try await lookup.client.send(
                    .unlock, lock.url, headers: [("Lock-Token", lock.token)])
            }
        }
    }
}
