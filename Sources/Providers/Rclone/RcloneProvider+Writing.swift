import Engine
import ProviderSupport

extension RcloneProvider {
    /// A larger file is uploaded under a hidden name, checked again, and then renamed. That shortens
    /// the time in which a change by another client goes unnoticed; for a smaller file it would only
    /// cost time.
    private static let stagedBytesMin: UInt64 = 8 << 20

    /// Writes by way of a file on this machine: only for a file does rclone keep the time, check the
    /// hash and know the size in advance.
    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let path = try remote.newPath(key)
        guard let parent = key.parent else {
            throw ProviderError(.exists, "the root is a directory")
        }
        if base == .absent { try await names.requireKept(key) }
        // Before all else, so that a refusal costs no upload.
        try await remote.requireBase(base, at: key)
        try await session.requireProof()
        let file = try await spool.copy(source, modified: attributes.modified)
        defer { file.remove() }

        let upload = RcloneUpload(remote: remote, file: file, size: source.size, session: session)
        guard remote.features.movesFiles, source.size >= Self.stagedBytesMin else {
            return try await locks.with([key]) { () async throws(ProviderError) in
                try await remote.requireBase(base, at: key)
                try await upload.run(to: path)
                return try await written(key, source.size, attributes.modified)
            }
        }
        let staged = try stage(beside: parent, session)
        do {
            try await upload.run(to: staged)
            let object = try await locks.with([key]) { () async throws(ProviderError) in
                try await remote.requireBase(base, at: key)
                try await remote.moveFile(staged, to: path)
                return try await written(key, source.size, attributes.modified)
            }
            try? session.keep(nil)
            return object
        } catch {
            await remote.removeLeftover(staged)
            throw error
        }
    }

    /// Removes the hidden file of an interrupted upload.
    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        guard let parent = key.parent, let place = remote.path(of: parent),
            RcloneHidden.isStaged(token.rawValue)
        else { return }
        do {
            try await remote.deleteFile(Self.path(of: token.rawValue, in: place))
        } catch {
            guard error.kind == .missing else { throw error }
        }
    }

    /// Chooses a hidden name for a file until it is complete, and saves it so that the file can be
    /// removed after a crash. The file of an earlier call is replaced.
    private func stage(
        beside parent: ObjectKey, _ session: any UploadSession
    ) throws(ProviderError) -> String {
        let place = try remote.newPath(parent)
        let kept = session.token?.rawValue
        let name =
            kept.flatMap { RcloneHidden.isStaged($0) ? $0 : nil } ?? RcloneHidden.stagedName()
        do {
            try session.keep(UploadToken(name))
        } catch {
            throw ProviderError(.source, "its hidden name cannot be saved", cause: error)
        }
        return Self.path(of: name, in: place)
    }

    private static func path(of name: String, in directory: String) -> String {
        directory.isEmpty ? name : "\(directory)/\(name)"
    }

    /// Looks at a key right after it was written.
    ///
    /// - Throws: `.unreachable` if another client replaced the file at the same time.
    private func written(
        _ key: ObjectKey, _ size: UInt64, _ modified: Timestamp
    ) async throws(ProviderError) -> RemoteObject {
        let found = try await remote.requireObject(at: key)
        let isOurs =
            found.size == size
            && traits.modifiedResolution.map { found.modified.isWithin($0, of: modified) } ?? true
        guard isOurs else {
            throw ProviderError(
                .unreachable, "it differs from what was sent: \(found.size) bytes of \(size)")
        }
        return found
    }
}

extension Timestamp {
    func isWithin(_ resolution: Duration, of other: Timestamp) -> Bool {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return !overflow && .nanoseconds(difference) < resolution + .nanoseconds(1)
            && .nanoseconds(difference) > .zero - resolution - .nanoseconds(1)
    }
}
