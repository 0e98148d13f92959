package import Engine

extension S3Provider {
    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "move \"\(key)\" to \"\(destination)\""
        guard key != .root, destination != .root else {
            throw ProviderError(.unsupported, attempt: attempt, reason: "the root stays")
        }
        guard let found = try await look(key, attempt) else {
            // The answer to the last step of an earlier call may have been lost.
            if continues, etag == nil,
                let moved = try await look(destination, attempt), moved.kind == .directory
            {
                return try await object(destination, moved, attempt)
            }
            throw missing(attempt)
        }
        try check(found, etag, attempt)
        guard key != destination else { return try await object(key, found, attempt) }
        if case .object(let head) = found {
            return try await moveObject(key, head, to: destination, base, attempt)
        }
        guard !destination.names.starts(with: key.names) else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "a directory cannot move below itself")
        }
        guard case .absent = base else {
            throw ProviderError(
                .wrongKind, attempt: attempt, reason: "a directory cannot replace a file")
        }
        return try await moveDirectory(
            key, found.head, to: destination, continues: continues, attempt)
    }

    // MARK: One object

    private func moveObject(
        _ key: ObjectKey, _ head: S3Head, to destination: ObjectKey, _ base: BaseVersion,
        _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        let target = try await fileKey(destination, base: base, attempt)
        let place = keys.place(of: key)
        guard let source = place.file else { throw missing(attempt) }
        let conditions = try await conditions(attempt)
        let condition = S3Condition(base)
        switch base {
        case .absent:
            try await checkNew(destination, looksForFile: !conditions.copyIfAbsent, attempt)
        case .version(let etag):
            guard let old = try await look(destination, attempt) else { throw missing(attempt) }
            guard case .object(let oldHead) = old else {
                throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
            }
            guard oldHead.etag == etag else { throw changed(attempt) }
        }
        if key.parent != destination.parent { try await keepParent(of: key, attempt) }
        let etag: ETag
        do throws(ProviderError) {
            etag = try await copy(
                source, head, to: target, metadata: nil, conditions.onCopy(condition), attempt)
        } catch {
            guard error.kind == .changed || error.kind == .missing else { throw error }
            // Of the source or of the destination?
            guard let now = try await client.head(source, attempt) else { throw missing(attempt) }
            if now.etag != head.etag { throw changed(attempt) }
            throw base == .absent ? exists(attempt) : changed(attempt)
        }
        guard let copied = try await client.head(target, attempt) else {
            throw ProviderError(
                .unreachable, attempt: attempt, reason: "the copy is not where it was made")
        }
        // Replaced by somebody else since; the source stays, so that nothing is lost.
        guard copied.etag == etag else {
            throw base == .absent ? exists(attempt) : changed(attempt)
        }
        try await removeSource(
            place, source, head, copy: target, copied, base, conditions, attempt)
        return try await object(destination, .object(copied), attempt)
    }

    /// Deletes what has been copied; if it was changed at this moment, the copy goes instead.
    private func removeSource(
        _ place: S3KeyMap.Place, _ source: S3Key, _ head: S3Head, copy: S3Key, _ copied: S3Head,
        _ base: BaseVersion, _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            if place.isMarkerBytes {
                try await emptyMarker(source, head, conditions, attempt)
            } else {
                try await deleteVersion(source, head.etag, conditions, attempt)
            }
        } catch {
            guard error.kind == .changed else { throw halfDone(error, attempt) }
            if base == .absent {
                try await client.delete(
                    copy, etag: conditions.deleteIfVersion ? copied.etag : nil, attempt)
            }
            throw error
        }
    }

    /// What was copied is there, whyever its original could not be deleted: whoever asked has to look.
    private func halfDone(_ error: ProviderError, _ attempt: String) -> ProviderError {
        switch error.kind {
        case .busy, .denied, .unauthorized, .full, .unsupported, .wrongKind:
            ProviderError(
                .unreachable, attempt: attempt, reason: "copied, not deleted: \(error.reason)",
                retryAfter: error.retryAfter, cause: error)
        default: error
        }
    }

    /// Deletes one version; one that is gone is fine.
    func deleteVersion(
        _ key: S3Key, _ etag: ETag, _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            if !conditions.deleteIfVersion {
                guard let now = try await client.head(key, attempt) else { return }
                if now.etag != etag { throw changed(attempt) }
            }
            try await client.delete(
                key, etag: conditions.deleteIfVersion ? etag : nil, attempt)
        } catch {
            if error.kind == .missing { return }
            guard error.kind == .changed, try await client.head(key, attempt) == nil else {
                throw error
            }
        }
    }

    // MARK: A directory

    /// Moves object by object: each is copied, then deleted, so that a call that is cut short
    /// leaves every object in at least one of the two places, and another goes on from there.
    ///
    /// The marker at the old place goes last: as long as it is there, so is the directory. It stays,
    /// with the markers on the way, where an object has to: somebody else made another one of its
    /// name meanwhile, in the new place or, after ours had left, in the old one.
    private func moveDirectory(
        _ key: ObjectKey, _ marker: S3Head?, to destination: ObjectKey, continues: Bool,
        _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        let (from, to) = (keys.place(of: key), keys.place(of: destination))
        guard !from.isBeginning, !to.isBeginning else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "it is no directory of its own",
                remedy: "give it its old name, and rename what is in it")
        }
        _ = try await fileKey(destination, attempt)
        let conditions = try await conditions(attempt)
        if continues, let parent = destination.parent {
            try await checkParent(parent, attempt)
        } else {
            try await checkNew(destination, looksForFile: true, attempt)
        }
        if key.parent != destination.parent { try await keepParent(of: key, attempt) }
        let metadata = marker?.metadata ?? S3Metadata()
        guard try await putMarkerAlone(to.marker, metadata, nil, attempt) else {
            throw exists(attempt)
        }
        if marker == nil { _ = try await putMarkerAlone(from.marker, metadata, nil, attempt) }

        // Until a listing shows nothing more: what others make or change meanwhile moves too.
        var passes = 0
        var staying: Set<S3Key> = []
        while try await moveObjects(from, to, &staying, conditions, attempt) > 0 {
            try checkCancelled(attempt)
            passes += 1
            guard passes < Self.passesMax else {
                throw ProviderError(
                    .busy, attempt: attempt, reason: "others change what is in it all the time")
            }
        }
        if staying.isEmpty {
            try await client.delete(from.marker, etag: nil, attempt)
            if try await client.head(from.folderMarker, attempt) != nil {
                try await client.delete(from.folderMarker, etag: nil, attempt)
            }
        }
        return try await directory(destination, to.marker, attempt)
    }

    /// Moves what one listing of all below a directory shows.
    ///
    /// - Parameter staying: What is left in the old place; what an earlier pass has found is passed
    ///   over.
    /// - Returns: How many objects have moved.
    private func moveObjects(
        _ from: S3KeyMap.Place, _ to: S3KeyMap.Place, _ staying: inout Set<S3Key>,
        _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) -> Int {
        var count = 0
        var token: String?
        // The directories that the listing is in, each below the one before. Their markers go once
        // it has left them, the deepest first: SeaweedFS keeps a directory that was not empty.
        var open: [(marker: S3Key, isEmpty: Bool)] = []
        repeat {
            let page = try await client.list(
                prefix: from.directory, delimiter: false, token: token, attempt)
            let objects = page.objects.filter { object in
                object.key.bytes.starts(with: from.directory.bytes)
                    && (object.key != from.marker || object.size > 0)
            }
            let moving = objects.filter { !staying.contains($0.key) }
            count += moving.count
            for start in stride(from: 0, to: moving.count, by: Self.batchObjects) {
                let batch = moving[start..<min(start + Self.batchObjects, moving.count)]
                let left = try await moveObjects(batch, from, to, conditions, attempt)
                count -= left.count
                staying.formUnion(left)
            }
            for object in objects {
                while let last = open.last, !object.key.bytes.starts(with: last.marker.bytes) {
                    try await leave(open.removeLast(), &staying, attempt)
                }
                if object.isMarker {
                    open.append((object.key, isEmpty: true))
                } else if staying.contains(object.key) {
                    for index in open.indices { open[index].isEmpty = false }
                }
            }
            token = page.next
        } while token != nil
        while let last = open.popLast() { try await leave(last, &staying, attempt) }
        return count
    }

    /// All that a listing shows of a directory below the one that moves has moved, or stays.
    private func leave(
        _ directory: (marker: S3Key, isEmpty: Bool), _ staying: inout Set<S3Key>, _ attempt: String
    ) async throws(ProviderError) {
        if directory.isEmpty {
            try await client.delete(directory.marker, etag: nil, attempt)
        } else {
            staying.insert(directory.marker)
        }
    }

    /// Each pass moves what the one before has left, or what came after it.
    private static var passesMax: Int { 16 }
    /// As many are in both places at most, before they are deleted in one.
    private static var batchObjects: Int { 128 }

    /// One version of a file in both places, to be deleted in the old one.
    private struct Copied: Sendable {
        let source: S3Key
        let etag: ETag
        let target: S3Key
        let targetETag: ETag
    }

    /// What has become of one object of a directory.
    private enum Outcome: Sendable {
        /// It has moved, is a marker that was copied, or is not there any more.
        case done
        /// It is to be deleted with others.
        case copied(Copied)
        /// Something else has its name in the new place.
        case stays(S3Key)
    }

    /// Moves files, and copies markers.
    ///
    /// - Returns: What stays, as something else has its name in the new place.
    private func moveObjects(
        _ objects: ArraySlice<S3Listing.Object>, _ from: S3KeyMap.Place, _ to: S3KeyMap.Place,
        _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) -> [S3Key] {
        var copied: [Copied] = []
        var staying: [S3Key] = []
        func note(_ outcome: Outcome) {
            switch outcome {
            case .done: break
            case .copied(let version): copied.append(version)
            case .stays(let key): staying.append(key)
            }
        }
        do {
            try await withThrowingTaskGroup(of: Outcome.self) { group in
                for (index, object) in objects.enumerated() {
                    if index >= limits.movesAtOnce, let done = try await group.next() {
                        note(done)
                    }
                    let target = to.directory.appending(
                        object.key.bytes.dropFirst(from.directory.bytes.count))
                    group.addTask {
                        try await self.copyBelow(object, to: target, conditions, attempt)
                    }
                }
                for try await done in group { note(done) }
            }
        } catch {
            // What is in both places would look like twice as many files.
            try? await deleteCopied(copied, conditions, attempt)
            if let error = error as? ProviderError { throw error }
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled", cause: error)
        }
        try await deleteCopied(copied, conditions, attempt)
        return staying
    }

    /// Deletes the versions that have been copied: in one request where the store heeds versions
    /// there, and those of which it does not say that they are gone one by one.
    private func deleteCopied(
        _ copied: [Copied], _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) {
        // XML has no way to write control characters.
        let batch = copied.filter { $0.source.bytes.allSatisfy { $0 >= 0x20 } }
        var gone: Set<S3Key> = []
        do throws(ProviderError) {
            if !batch.isEmpty {
                gone = try await client.delete(batch.map { ($0.source, $0.etag) }, attempt).gone
            }
        } catch {
            // A batch that is refused as such is no reason not to delete one by one.
            guard [.unsupported, .denied, .missing].contains(error.kind) else { throw error }
        }
        for version in copied where !gone.contains(version.source) {
            try await deleteCopied(version, conditions, attempt)
        }
    }

    /// Deletes one version that has been copied. Where somebody else has just changed it, the copy
    /// is an old one and goes instead; the next listing shows the new version, which is moved then.
    private func deleteCopied(
        _ version: Copied, _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            try await deleteVersion(version.source, version.etag, conditions, attempt)
        } catch {
            guard error.kind == .changed else { throw error }
            try await deleteVersion(version.target, version.targetETag, conditions, attempt)
        }
    }

    private func copyBelow(
        _ object: S3Listing.Object, to target: S3Key, _ conditions: S3Conditions,
        _ attempt: String
    ) async throws(ProviderError) -> Outcome {
        let source = object.key
        guard let head = try await client.head(source, attempt) else { return .done }
        if object.isMarker {
            // Not every store copies markers.
            try await putMarker(target, head.metadata, nil, attempt)
            return .done
        }
        let copy: ETag?
        do throws(ProviderError) {
            copy = try await copyOrFind(source, head, at: target, conditions, attempt)
        } catch {
            guard error.kind == .exists else { throw error }
            return .stays(source)
        }
        guard let etag = copy else { return .done }
        let copied = Copied(source: source, etag: head.etag, target: target, targetETag: etag)
        if conditions.batchIfVersion { return .copied(copied) }
        try await deleteCopied(copied, conditions, attempt)
        return .done
    }

    /// Copies a version to where nothing is, or finds that an earlier call has.
    ///
    /// - Returns: The version of the copy; nil where the original is no longer that version, so that
    ///   the next listing is to tell what is there.
    /// - Throws: `.exists`.
    private func copyOrFind(
        _ source: S3Key, _ head: S3Head, at target: S3Key, _ conditions: S3Conditions,
        _ attempt: String
    ) async throws(ProviderError) -> ETag? {
        func found() async throws(ProviderError) -> ETag? {
            guard let there = try await client.head(target, attempt) else { return nil }
            guard isCopy(there, of: head) else { throw exists(attempt) }
            return there.etag
        }
        if !conditions.copyIfAbsent, let etag = try await found() { return etag }
        do throws(ProviderError) {
            return try await copy(
                source, head, to: target, metadata: nil, conditions.onCopy(.absent), attempt)
        } catch {
            guard error.kind == .changed || error.kind == .missing else { throw error }
            if let etag = try await found() { return etag }
            guard try await client.head(source, attempt)?.etag != head.etag else { throw error }
            return nil
        }
    }

    /// Whether an object is what an earlier call has copied. The ETag of a copy is the same unless
    /// it was made in parts.
    private func isCopy(_ copy: S3Head, of head: S3Head) -> Bool {
        if copy.etag == head.etag { return true }
        return copy.size == head.size
            && (S3ETag.isOfParts(copy.etag) || S3ETag.isOfParts(head.etag))
            && copy.metadata.modified == (head.metadata.modified ?? head.modified)
    }
}
