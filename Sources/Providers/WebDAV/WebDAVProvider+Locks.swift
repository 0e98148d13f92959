import Engine
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
    /// The header `If` for a request that these locks guard; none where there are none.
    var headers: [(name: String, value: String)] {
        isEmpty ? [] : [("If", map(\.condition).joined(separator: " "))]
    }
}

extension WebDAVProvider {
    /// How long the server keeps a lock of ours if we die: others, and we, are kept out as long.
    private static var lockSeconds: Int { 60 }
    /// How long somebody else's lock is waited for.
    static var lockPatience: Duration { .seconds(10) }

    /// Runs `body` with locks on all of `keys`, taken in an order that keeps two of these from
    /// waiting for each other.
    ///
    /// - Parameter depth: `0`, or `infinity` to keep names from being made in a directory.
    func locking<Value: Sendable>(
        _ keys: [ObjectKey], depth: String = "0", _ attempt: String,
        _ body: ([WebDAVLock]) async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        var locks: [WebDAVLock] = []
        do throws(ProviderError) {
            for key in keys.sorted(by: { $0.names.lexicographicallyPrecedes($1.names) }) {
                locks.append(try await lock(key, depth: depth, attempt))
            }
            let value = try await body(locks)
            await unlock(locks, attempt)
            return value
        } catch {
            await unlock(locks, attempt)
            throw error
        }
    }

    private func lock(
        _ key: ObjectKey, depth: String, _ attempt: String
    ) async throws(ProviderError) -> WebDAVLock {
        let deadline = clock.uptime + Self.lockPatience
        var pause = Duration.milliseconds(5)
        while true {
            if let lock = try await tryLock(key, depth: depth, attempt) { return lock }
            guard clock.uptime < deadline else {
                throw ProviderError(
                    .busy, attempt: attempt, reason: "somebody else has locked \"\(key)\"")
            }
            try await wait(pause * Int.random(in: 1...4), attempt)
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    /// - Returns: nil where somebody else has locked it.
    private func tryLock(
        _ key: ObjectKey, depth: String, _ attempt: String
    ) async throws(ProviderError) -> WebDAVLock? {
        // nginx has an infinite lock cover what is below only if its URL ends in a slash.
        let url = client.address.url(key, isCollection: depth == "infinity")
        let body = WebDAVClient.xml(
            "D:lockinfo",
            "<D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>"
                + "<D:owner>apus</D:owner>")
        let answer = try await cleaningUp { () async throws(ProviderError) in
            try await client.send(
                .lock, url,
                headers: [
                    ("Depth", depth), ("Timeout", "Second-\(Self.lockSeconds)"),
                    ("Content-Type", WebDAVClient.xmlType),
                ], body: .bytes(body), attempt: attempt)
        }
        if answer.status == 423 { return nil }
        guard (200..<300).contains(answer.response.status) else {
            throw await explained(answer, key, attempt)
        }
        guard let token = answer.response.headers["Lock-Token"], token.hasPrefix("<"),
            token.hasSuffix(">")
        else {
            throw ProviderError(
                .corrupt, attempt: attempt, reason: "the server gave a lock without a token")
        }
        let lock = WebDAVLock(key: key, url: url, token: token)
        guard answer.response.status == 201 else { return lock }
        // Only what is expected to be there is locked, and this lock made it: it was gone.
        await removeMade(by: lock, attempt)
        throw ProviderError(.missing, attempt: attempt, reason: "\"\(key)\" is not there any more")
    }

    /// Takes away the empty file that a lock on a free name makes (RFC 4918, 7.3), while nobody
    /// else can have written to it.
    private func removeMade(by lock: WebDAVLock, _ attempt: String) async {
        _ = try? await cleaningUp { () async throws(ProviderError) in
            guard let made = try await look(at: lock.key, attempt), !made.isCollection,
                made.size == 0
            else { return }
            _ = try await client.send(.delete, lock.url, headers: [lock].headers, attempt: attempt)
        }
        await unlock([lock], attempt)
    }

    /// Gives locks back. A lock that went with its resource is nothing to complain about, and one
    /// that stays ends by itself.
    private func unlock(_ locks: [WebDAVLock], _ attempt: String) async {
        for lock in locks.reversed() {
            _ = try? await cleaningUp { () async throws(ProviderError) in
                try await client.send(
                    .unlock, lock.url, headers: [("Lock-Token", lock.token)], attempt: attempt)
            }
        }
    }
}
