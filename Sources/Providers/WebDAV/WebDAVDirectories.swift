import Engine
import ProviderSupport
import Transport

/// Creates directories.
struct WebDAVDirectories: Sendable {
    let lookup: WebDAVLookup
    let properties: WebDAVProperties

    func create(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let name = try lookup.server.storableName(of: key)
        return try await finishing { () async throws(ProviderError) in
            // rclone reports success if the directory exists.
            if lookup.server.replacing == .staged, try await lookup.entry(at: key) != nil {
                throw ProviderError.nameTaken
            }
            let answer = try await lookup.client.send(
                .mkcol, lookup.client.address.url(key, isCollection: true))
            guard answer.isSuccess else { throw try await failure(answer, key) }
            try await properties.set(WebDAVAttributes(attributes, etag: nil), of: key)
            return lookup.objects.object(try await lookup.found(key), named: name).object
        }
    }

    private func failure(
        _ answer: WebDAVAnswer, _ key: ObjectKey
    ) async throws(ProviderError) -> ProviderError {
        let failure = await lookup.explained(answer, key)
        let mayExist = [400, 403, 405, 409, 412].contains(answer.status)
        guard failure.kind != .missing || answer.status == 409, mayExist,
            try await lookup.entry(at: key) != nil
        else { return failure }
        return .nameTaken
    }
}
