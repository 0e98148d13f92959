import Engine

extension ProviderConformance {
    static let changeCases = [
        Case("a store without reports of changes follows no directory") { store in
            guard try await store.firstAnchor() == nil else { return }
            try await store.makeDirectory("a")
            let isFollowed = try await store.provider.follow(store.key("a"))
            try require(!isFollowed, "nothing reports its changes")
        },
        Case("each change in a followed directory is reported") { store in
            guard let anchor = try await store.firstAnchor() else { return }
            for change in ConformanceChange.allCases {
                if change == .mode, !store.options.reportsAttributes { continue }
                let directory = "\(change)"
                try await store.makeDirectory(directory)
                let file = try await store.write("\(directory)/file", store.bytes(10))
                // Nothing else can be reported of this directory.
                try await store.follow(directory)
                try await change.make(store, directory, file)
                _ = try await store.awaitReport(of: directory, since: anchor)
            }
        },
        Case("a report comes again until its anchor comes back") { store in
            guard let anchor = try await store.firstAnchor() else { return }
            try await store.makeDirectory("a")
            try await store.follow("a")
            try await store.write("a/file", store.bytes(10))
            _ = try await store.awaitReport(of: "a", since: anchor)
            _ = try await store.awaitReport(of: "a", since: anchor)
        },
        Case("a followed directory is reported when something else is at its key") { store in
            guard var anchor = try await store.firstAnchor() else { return }
            try await store.makeDirectory("a")
            try await store.makeDirectory("a/b")
            try await store.makeDirectory("a/b/c")
            for (path, destination) in [("a/b/c", "x"), ("a/b", "y"), ("a", "z")] {
                try await store.follow("a/b/c", "a/b")
                _ = try await store.provider.move(
                    store.key(path), etag: nil, to: store.key(destination), base: .absent)
                anchor = try await store.awaitReport(of: "a/b", since: anchor)
                // The object that has the key by now can be followed in turn.
                if path == "a" { try await store.makeDirectory("a") }
                if path != "a/b/c" { try await store.makeDirectory("a/b") }
                try await store.makeDirectory("a/b/c")
                try await store.follow("a/b/c")
                try await store.write("a/b/c/\(destination)", store.bytes(1))
                anchor = try await store.awaitReport(of: "a/b/c", since: anchor)
            }
        },
        Case("a followed directory that was deleted is reported") { store in
            guard let anchor = try await store.firstAnchor() else { return }
            try await store.makeDirectory("a")
            try await store.follow("a")
            try await store.provider.delete(store.key("a"), kind: .directory, etag: nil)
            _ = try await store.awaitReport(of: "a", since: anchor)
            // To follow it fails, or its return is reported.
            let key = try store.key("a")
            do throws(ProviderError) {
                guard try await store.provider.follow(key) else { return }
            } catch {
                return try require(error.kind, equals: .missing, "why it is not followed")
            }
            try await store.makeDirectory("a")
            _ = try await store.awaitReport(of: "a", since: anchor)
        },
        Case("an unknown anchor reports that changes may have been missed") { store in
            guard try await store.firstAnchor() != nil else { return }
            let report = try await store.provider.changes(since: ChangeAnchor("unknown"))
            try require(report.mayHaveMissed, "nothing is known of what was before")
        },
        Case("a wait for changes ends when its task is cancelled") { store in
            guard let anchor = try await store.firstAnchor() else { return }
            let task = ConformanceTask<Void>()
            do {
                try await task.run {
                    Task { task.cancel() }
                    while true { _ = try await store.provider.changes(since: anchor) }
                }
            } catch let error as ProviderError {
                try require(error.kind, equals: .cancelled, "why the wait ended")
            }
        },
    ]
}

/// A change of a file in a directory.
private enum ConformanceChange: CaseIterable {
    case bytes, mode, name, removal, moveOut, moveIn, newDirectory

    func make(
        _ store: ConformanceStore, _ directory: String, _ file: RemoteObject
    ) async throws {
        let (key, etag) = (try store.key("\(directory)/file"), try store.etag(of: file))
        switch self {
        case .bytes:
            try await store.write("\(directory)/file", store.bytes(20), base: .version(etag))
        case .mode:
            var attributes = ConformanceStore.attributes
            attributes.mode = 0o600
            _ = try await store.provider.setAttributes(key, to: attributes, etag: etag)
        case .name:
            _ = try await store.provider.move(
                key, etag: etag, to: store.key("\(directory)/other"), base: .absent)
        case .removal: try await store.provider.delete(key, kind: .file, etag: etag)
        case .moveOut:
            _ = try await store.provider.move(
                key, etag: etag, to: store.key("out"), base: .absent)
        case .moveIn:
            let other = try await store.write("other", store.bytes(5))
            _ = try await store.provider.move(
                store.key("other"), etag: store.etag(of: other),
                to: store.key("\(directory)/in"), base: .absent)
        case .newDirectory: try await store.makeDirectory("\(directory)/new")
        }
    }
}

extension ConformanceStore {
    /// - Returns: nil if the store reports no changes.
    fileprivate func firstAnchor() async throws -> ChangeAnchor? {
        do throws(ProviderError) {
            return try await provider.changes(since: nil).anchor
        } catch {
            guard error.kind == .unsupported else { throw error }
            return nil
        }
    }

    fileprivate func follow(_ paths: String...) async throws {
        for path in paths {
            let isFollowed = try await provider.follow(key(path))
            try require(isFollowed, "\"\(path)\" is followed")
        }
    }

    /// Waits for a report of a directory.
    ///
    /// - Returns: Its anchor.
    fileprivate func awaitReport(
        of path: String, since anchor: ChangeAnchor
    ) async throws -> ChangeAnchor {
        let key = try key(path)
        var anchor = anchor
        while true {
            let report = try await provider.changes(since: anchor)
            anchor = report.anchor
            if report.directories.contains(key) { return anchor }
        }
    }
}
