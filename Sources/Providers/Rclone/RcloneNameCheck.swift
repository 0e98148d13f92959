import Engine
import Synchronization

/// Refuses new names that the remote would store under another name, or not at all.
///
/// SeaweedFS takes a backslash for a slash, and its listings of S3, like others in XML, omit control
/// characters. rclone does not know this, and the failure of such an upload would look passing, so
/// that it would be tried again for ever.
final class RcloneNameCheck: Sendable {
    private let remote: RcloneRemote
    private let spool: RcloneSpool
    /// Sets of unusual characters that the remote is known to keep.
    private let kept = Mutex<Set<String>>([])

    init(_ remote: RcloneRemote, _ spool: RcloneSpool) {
        self.remote = remote
        self.spool = spool
    }

    /// Tests the unusual characters of a new name, unless the remote is known to keep them.
    ///
    /// - Throws: `.unsupported` if the remote does not keep them.
    func requireKept(_ key: ObjectKey) async throws(ProviderError) {
        guard let name = key.names.last.flatMap(RcloneName.encode) else { return }
        let characters = RcloneName.oddCharacters(of: name)
        guard !characters.isEmpty, !kept.withLock({ $0.contains(characters) }) else { return }
        guard try await keeps(characters) else {
            throw ProviderError(
                .unsupported, "\(remote.name) does not keep every character of this name",
                remedy: "rename it, then it is sent")
        }
        _ = kept.withLock { $0.insert(characters) }
    }

    /// Creates one file with the characters and one without. Only if the plain one appears does the
    /// absence of the other prove anything about its name.
    private func keeps(_ characters: String) async throws(ProviderError) -> Bool {
        let plain = RcloneHidden.probeName()
        let odd = "\(plain)-\(characters)"
        let names: Result<Set<String>, ProviderError>
        do throws(ProviderError) {
            names = .success(try await namesAfterMaking(plain, odd))
        } catch {
            names = .failure(error)
        }
        await remote.removeLeftover(odd)
        await remote.removeLeftover(plain)
        guard try names.get().contains(plain) else {
            throw ProviderError(.busy, "a listing lacks a file that was just written")
        }
        return try names.get().contains(odd)
    }

    private func namesAfterMaking(
        _ plain: String, _ odd: String
    ) async throws(ProviderError) -> Set<String> {
        try await RcloneUpload.makeEmpty(plain, on: remote, spool)
        do throws(ProviderError) {
            try await RcloneUpload.makeEmpty(odd, on: remote, spool)
        } catch {
            switch error.kind {
            case .busy, .cancelled, .full, .source, .unauthorized: throw error
            default: break
            }
        }
        return Set(try await remote.items(in: "").map(\.name))
    }
}
