import Engine
import Glibc

extension RcloneProvider {
    /// The bytes go through a file of our own, since only of a file rclone keeps the time, checks
    /// the sum and knows the size before it begins.
    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "write \"\(key)\""
        let path = try newPath(key, attempt)
        guard let parent = key.parent else {
            throw ProviderError(.exists, attempt: attempt, reason: "the root is a directory")
        }
        if base == .absent { try await requireKept(key, attempt) }
        // Before all else, so that a refusal costs no upload.
        try await requireBase(base, at: key, attempt)
        let file = try await spool.copy(source, modified: attributes.modified, attempt)
        defer { file.remove() }

        let upload = RcloneUpload(
            client: client, fileSystem: fileSystem, file: file, size: source.size,
            session: session, attempt: attempt)
        if features.movesFiles, source.size >= Self.stagedBytesMin {
            let staged = try stage(beside: parent, session, attempt)
            do {
                try await upload.run(to: staged)
                let object = try await locks.with([key]) { () async throws(ProviderError) in
                    try await requireBase(base, at: key, attempt)
                    try await moveFile(staged, to: path, attempt)
                    return try await written(key, source.size, attributes.modified, attempt)
                }
                try? session.keep(nil)
                return object
            } catch {
                await remove(staged)
                throw error
            }
        }
        return try await locks.with([key]) { () async throws(ProviderError) in
            try await requireBase(base, at: key, attempt)
            try await upload.run(to: path)
            return try await written(key, source.size, attributes.modified, attempt)
        }
    }

    /// Removes what an upload that was cut short left under its hidden name.
    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        let attempt = "abandon an upload of \"\(key)\""
        guard let parent = key.parent, let place = path(of: parent),
            RcloneHidden.isStaged(token.rawValue)
        else { return }
        var input = RcloneInput()
        input.fs = fileSystem
        input.remote = place.isEmpty ? token.rawValue : "\(place)/\(token.rawValue)"
        do {
            let _: RcloneNothing = try await client.call(
                "operations/deletefile", input, attempt: attempt)
        } catch {
            guard error.kind == .missing else { throw error }
        }
    }

    /// A hidden place for a file until it is whole, kept so that it can be removed after a crash;
    /// what an earlier try left there is replaced.
    private func stage(
        beside parent: ObjectKey, _ session: any UploadSession, _ attempt: String
    ) throws(ProviderError) -> String {
        let place = try newPath(parent, attempt)
        let kept = session.token?.rawValue
        let name =
            kept.flatMap { RcloneHidden.isStaged($0) ? $0 : nil } ?? RcloneHidden.stagedName()
        do {
            try session.keep(UploadToken(name))
        } catch {
            throw ProviderError(
                .source, attempt: attempt, reason: "its place cannot be kept", cause: error)
        }
        return place.isEmpty ? name : "\(place)/\(name)"
    }

    /// - Throws: `.exists`, `.missing`, `.changed`, `.wrongKind`.
    func requireBase(
        _ base: BaseVersion, at key: ObjectKey, _ attempt: String
    ) async throws(ProviderError) {
        switch base {
        case .version(let etag):
            try await requireVersion(etag, of: key, attempt)
        case .absent:
            guard try await look(at: key, attempt) == nil else {
                throw ProviderError(.exists, attempt: attempt, reason: "something is there")
            }
            try await requireParent(of: key, attempt)
        }
    }

    /// rclone would make the directories that are missing.
    func requireParent(of key: ObjectKey, _ attempt: String) async throws(ProviderError) {
        guard let parent = key.parent, !parent.names.isEmpty else { return }
        guard try await look(at: parent, attempt)?.kind == .directory else {
            throw ProviderError(
                .missing, attempt: attempt, reason: "the directory \"\(parent)\" is not there")
        }
    }

    /// What a key holds right after we wrote there; if that is not ours, somebody else was faster.
    private func written(
        _ key: ObjectKey, _ size: UInt64, _ modified: Timestamp, _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        let found = try await stat(key)
        let resolution = traits.modifiedResolution
        let isOurs =
            found.size == size
            && resolution.map { found.modified.isWithin($0, of: modified) } ?? true
        guard isOurs else {
            throw ProviderError(
                .unreachable, attempt: attempt,
                reason: "it does not hold what was sent: \(found.size) bytes of \(size)")
        }
        return found
    }

    func moveFile(
        _ path: String, to destination: String, _ attempt: String
    ) async throws(ProviderError) {
        var input = RcloneInput()
        input.srcFs = fileSystem
        input.srcRemote = path
        input.dstFs = fileSystem
        input.dstRemote = destination
        try await client.change(
            "operations/movefile", input, attempt: attempt, group: RcloneUpload.newGroup())
    }

    /// Cleans up after a failure, also in a task that is cancelled.
    func remove(_ path: String) async {
        await Task { [client, fileSystem] in
            var input = RcloneInput()
            input.fs = fileSystem
            input.remote = path
            let _: RcloneNothing? = try? await client.call(
                "operations/deletefile", input, attempt: "remove what is left of an upload")
        }.value
    }
}

/// One file on its way from this machine to the remote.
struct RcloneUpload: Sendable {
    let client: RcloneClient
    let fileSystem: String
    let file: RcloneSpool.File
    let size: UInt64
    let session: any UploadSession
    let attempt: String

    private static let reportEvery: Duration = .seconds(1)

    static func newGroup() -> String { "apus-\(UInt64.random(in: 0 ... .max))" }

    func run(to path: String) async throws(ProviderError) {
        let group = Self.newGroup()
        let result = await withTaskGroup(of: Result<Void, ProviderError>?.self) { tasks in
            tasks.addTask {
                do throws(ProviderError) {
                    return .success(try await copy(to: path, group))
                } catch {
                    return .failure(error)
                }
            }
            tasks.addTask {
                await report(group)
                return nil
            }
            defer { tasks.cancelAll() }
            while let end = await tasks.next() {
                if let end { return end }
            }
            return .success(())
        }
        try result.get()
        session.noteSent(size)
    }

    private func copy(to path: String, _ group: String) async throws(ProviderError) {
        var input = RcloneInput()
        input.srcFs = file.directory
        input.srcRemote = file.name
        input.dstFs = fileSystem
        input.dstRemote = path
        try await client.change("operations/copyfile", input, attempt: attempt, group: group)
    }

    /// Tells the session how far it is, until the task is cancelled.
    private func report(_ group: String) async {
        var last: UInt64 = 0
        session.noteSent(0)
        var input = RcloneInput()
        input.group = group
        while true {
            do {
                try await client.clock.sleep(until: client.clock.uptime + Self.reportEvery)
                let stats: RcloneStats = try await client.call(
                    "core/stats", input, attempt: attempt)
                let sent = min(size, UInt64(max(0, stats.bytes ?? 0)))
                guard sent > last else { continue }
                last = sent
                session.noteSent(sent)
            } catch {
                if Task.isCancelled { return }
            }
        }
    }
}

extension Timestamp {
    func isWithin(_ resolution: Duration, of other: Timestamp) -> Bool {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return !overflow && .nanoseconds(difference) < resolution + .nanoseconds(1)
            && .nanoseconds(difference) > .zero - resolution - .nanoseconds(1)
    }
}
