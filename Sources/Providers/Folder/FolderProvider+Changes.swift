package import Engine
import SystemCalls

extension FolderProvider {
    package func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool {
        guard options.reportsChanges, feed.isOpen else { return false }
        if feed.isFollowed(directory) { return true }
        return try await perform(onCancel: .abandon) { () throws(ProviderError) in
            try feed.follow(directory)
        }
    }

    package func unfollow(_ directory: ObjectKey) {
        if feed.isOpen { feed.unfollow(directory) }
    }

    package func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        guard options.reportsChanges else {
            throw ProviderError(.unsupported, "the folder is not watched")
        }
        return try await feed.report(since: anchor)
    }
}
