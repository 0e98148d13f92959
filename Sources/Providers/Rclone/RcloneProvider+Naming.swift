import Engine
import Synchronization

// Names that some remotes keep under others, or not at all: SeaweedFS takes a backslash for a slash, and
// its listings of S3, like others in XML, tell no control characters. rclone does not know of it, and an
// upload to such a name fails in words that would have it tried again for ever.

/// Characters of which it was found out that a remote keeps them.
final class RcloneKeptCharacters: Sendable {
    private let found = Mutex<Set<String>>([])

    func contains(_ characters: String) -> Bool { found.withLock { $0.contains(characters) } }

    func insert(_ characters: String) { _ = found.withLock { $0.insert(characters) } }
}

extension RcloneProvider {
    /// Finds out whether a new name will be there as it is, where some remotes would not have it so.
    ///
    /// - Throws: `.unsupported` where not.
    func requireKept(_ key: ObjectKey, _ attempt: String) async throws(ProviderError) {
        guard let name = key.names.last.flatMap(RcloneName.encode) else { return }
        let characters = RcloneName.oddCharacters(of: name)
        guard !characters.isEmpty, !keptCharacters.contains(characters) else { return }
        guard try await keeps(characters, attempt) else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "\(traits.name) does not keep every character of this name",
                remedy: "rename it, then it is sent")
        }
        keptCharacters.insert(characters)
    }

    /// Makes a file with and one without them. Only that the one without is there tells that it is the
    /// name that the remote does not take.
    private func keeps(
        _ characters: String, _ attempt: String
    ) async throws(ProviderError) -> Bool {
        let plain = RcloneHidden.probeName()
        let odd = "\(plain)-\(characters)"
        let names: Result<Set<String>, ProviderError>
        do throws(ProviderError) {
            names = .success(try await namesAfterMaking(plain, odd, attempt))
        } catch {
            names = .failure(error)
        }
        await remove(odd)
        await remove(plain)
        guard try names.get().contains(plain) else {
            throw ProviderError(
                .busy, attempt: attempt, reason: "a listing lacks what was just written")
        }
        return try names.get().contains(odd)
    }

    private func namesAfterMaking(
        _ plain: String, _ odd: String, _ attempt: String
    ) async throws(ProviderError) -> Set<String> {
        try await makeEmpty(plain, attempt)
        do throws(ProviderError) {
            try await makeEmpty(odd, attempt)
        } catch {
            switch error.kind {
            case .busy, .cancelled, .full, .source, .unauthorized: throw error
            default: break
            }
        }
        var input = RcloneInput()
        input.fs = fileSystem
        input.remote = ""
        input.opt = RcloneInput.Options()
        let answer: RcloneList = try await client.call("operations/list", input, attempt: attempt)
        return Set((answer.list ?? []).map(\.name))
    }
}
