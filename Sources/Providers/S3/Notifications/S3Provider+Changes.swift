package import Engine

extension S3Provider {
    package func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool {
        feed?.follow(directory) ?? false
    }

    package func unfollow(_ directory: ObjectKey) { feed?.unfollow(directory) }

    package func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        guard let feed else {
            throw ProviderError(.unsupported, "the store sends no notifications")
        }
        return try await feed.report(since: anchor)
    }
}
