import Engine
import ProviderSupport

/// Moves all objects below one directory to another, whose marker exists already.
///
/// Each object is copied, then deleted, so that a call that is interrupted leaves every object in at
/// least one of the two places, and the next call continues from there.
///
/// The marker at the old place goes last: as long as it exists, so does the directory. It stays,
/// with the markers on the way, if an object has to stay because another client has created one of
/// its name: in the new place, or in the old one after ours had left.
struct S3DirectoryMove: Sendable {
    let from: S3KeyMap.Place
    let to: S3KeyMap.Place
    let directories: S3Directories
    let copier: S3Copier
    let remover: S3Remover
    let conditions: S3Conditions
    let noteCopies: CopyNote
    /// Objects and markers that remain in the old place.
    private(set) var staying: Set<S3Key> = []

    /// Each pass moves objects that the previous one has left, or that were added after it.
    private static let passesMax = 16
    /// At most this many objects are in both places before they are deleted in one.
    private static let batchObjects = 128

    private var client: S3Client { copier.client }

    /// Moves until a listing shows nothing more, so that objects that others create or change
    /// meanwhile move too.
    mutating func run() async throws(ProviderError) {
        var passes = 0
        while try await moveListed() > 0 {
            passes += 1
            guard passes < Self.passesMax else {
                throw ProviderError(.busy, "other clients keep changing its contents")
            }
        }
        if staying.isEmpty { try await directories.removeMarkers(of: from) }
    }

    /// Moves all that one listing of the directory shows, except what an earlier pass left in place.
    ///
    /// - Returns: The number of objects moved.
    private mutating func moveListed() async throws(ProviderError) -> Int {
        var count = 0
        var token: String?
        // The directories that the listing is in, each below the previous one. A marker is deleted
        // once the listing has left its directory, the deepest first: SeaweedFS keeps a directory
        // that was not empty.
        var open: [(marker: S3Key, isEmpty: Bool)] = []
        repeat {
            let page = try await client.list(prefix: from.directory, delimiter: false, token: token)
            let objects = page.objects.filter { object in
                object.key.bytes.starts(with: from.directory.bytes)
                    && (object.key != from.marker || object.size > 0)
            }
            let moving = objects.filter { !staying.contains($0.key) }
            count += moving.count
            for start in stride(from: 0, to: moving.count, by: Self.batchObjects) {
                let batch = moving[start..<min(start + Self.batchObjects, moving.count)]
                let left = try await moveBatch(batch)
                count -= left.count
                staying.formUnion(left)
            }
            for object in objects {
                while let last = open.last, !object.key.bytes.starts(with: last.marker.bytes) {
                    try await leave(open.removeLast())
                }
                if object.isMarker {
                    open.append((object.key, isEmpty: true))
                } else if staying.contains(object.key) {
                    for index in open.indices { open[index].isEmpty = false }
                }
            }
            token = page.next
        } while token != nil
        while let last = open.popLast() { try await leave(last) }
        return count
    }

    /// Deletes the marker of a directory below, unless an object in it stays.
    private mutating func leave(
        _ directory: (marker: S3Key, isEmpty: Bool)
    ) async throws(ProviderError) {
        if directory.isEmpty {
            try await client.delete(directory.marker, etag: nil)
        } else {
            staying.insert(directory.marker)
        }
    }

    // MARK: A batch

    /// One version of a file that exists in both places and is to be deleted in the old one.
    private struct Copied: Sendable {
        let source: S3Key
        let etag: ETag
        let target: S3Key
        let targetETag: ETag
        /// Whether its bytes are certain to be those of the source.
        let isProven: Bool

        /// Whether it is known to be the same file in another version.
        var isNoted: Bool { isProven && targetETag != etag }

        /// Describes the source with another version.
        ///
        /// - Returns: nil if a part of its key has no name of its own: then the copy seems to be a new version.
        func file(below directory: S3KeyMap.Place, etag: ETag) -> CopiedFile? {
            let parts = source.bytes.dropFirst(directory.directory.bytes.count)
                .split(separator: S3Key.slash, omittingEmptySubsequences: false)
            let names = parts.compactMap { S3Name(part: Array($0)).name }
            guard names.count == parts.count else { return nil }
            return CopiedFile(path: names, former: self.etag, etag: etag)
        }
    }

    private enum Outcome: Sendable {
        /// It has moved, is a marker that was copied, or no longer exists.
        case done
        /// It is to be deleted with others.
        case copied(Copied)
        /// Another object has its name in the new place.
        case stays(S3Key)
    }

    /// Moves files, and copies markers.
    ///
    /// - Returns: The objects that stay, since another one has their name in the new place.
    private func moveBatch(
        _ objects: ArraySlice<S3Listing.Object>
    ) async throws(ProviderError) -> [S3Key] {
        var copied: [Copied] = []
        var staying: [S3Key] = []
        do throws(ProviderError) {
            try await concurrently(objects, atMost: client.settings.limits.movesAtOnce) {
                object async throws(ProviderError) in
                try await self.copy(object)
            } result: { outcome in
                switch outcome {
                case .done: break
                case .copied(let version): copied.append(version)
                case .stays(let key): staying.append(key)
                }
            }
        } catch {
            // Files in both places would look like twice as many.
            try? await deleteSources(of: copied)
            throw error
        }
        try await deleteSources(of: copied)
        return staying
    }

    private func copy(_ object: S3Listing.Object) async throws(ProviderError) -> Outcome {
        let source = object.key
        let target = to.directory.appending(source.bytes.dropFirst(from.directory.bytes.count))
        guard let head = try await client.head(source) else { return .done }
        if object.isMarker {
            // Not every store copies markers.
            try await directories.put(target, head.metadata, nil)
            return .done
        }
        let copy: (etag: ETag, isProven: Bool)?
        do throws(ProviderError) {
            copy = try await copyOrFind(source, head, at: target)
        } catch {
            guard error.kind == .exists else { throw error }
            return .stays(source)
        }
        guard let copy else { return .done }
        let copied = Copied(
            source: source, etag: head.etag, target: target, targetETag: copy.etag,
            isProven: copy.isProven)
        if conditions.batchIfVersion { return .copied(copied) }
        try note([copied])
        try await deleteSource(of: copied)
        return .done
    }

    /// Copies a version to an unused name, or finds the copy of an earlier call.
    ///
    /// - Returns: The version of the copy, and whether its bytes are certain to be those of the original; nil if
    ///   the original is another version by now, so that the next listing has to show it.
    /// - Throws: `.exists`.
    private func copyOrFind(
        _ source: S3Key, _ head: S3Head, at target: S3Key
    ) async throws(ProviderError) -> (etag: ETag, isProven: Bool)? {
        func found() async throws(ProviderError) -> (etag: ETag, isProven: Bool)? {
            guard let there = try await client.head(target) else { return nil }
            guard there.etag == head.etag || there.isCopy(of: head) else { throw S3Failure.exists }
            return (there.etag, there.metadata.nonce != nil)
        }
        if !conditions.copyIfAbsent, let copy = try await found() { return copy }
        do throws(ProviderError) {
            let etag = try await copier.copy(source, head, to: target, conditions.onCopy(.absent))
            return (etag, true)
        } catch {
            guard error.kind == .changed || error.kind == .missing else { throw error }
            if let copy = try await found() { return copy }
            guard try await client.head(source)?.etag != head.etag else { throw error }
            return nil
        }
    }

    /// Reports the copies whose ETags differ from those of the originals.
    private func note(_ copied: [Copied]) throws(ProviderError) {
        let files = copied.compactMap { version in
            version.isNoted ? version.file(below: from, etag: version.targetETag) : nil
        }
        if !files.isEmpty { try noteCopies(files) }
    }

    /// Deletes copied versions: in one request if the store honours versions there, then one by one
    /// those that it does not report as deleted.
    private func deleteSources(of copied: [Copied]) async throws(ProviderError) {
        try note(copied)
        // XML cannot express control characters.
        let batch = copied.filter { $0.source.bytes.allSatisfy { $0 >= 0x20 } }
        var gone: Set<S3Key> = []
        do throws(ProviderError) {
            if !batch.isEmpty {
                gone = try await client.delete(batch.map { ($0.source, $0.etag) }).gone
            }
        } catch {
            // If the batch as such is refused, the objects are deleted one by one.
            guard [.unsupported, .denied, .missing].contains(error.kind) else { throw error }
        }
        for version in copied where !gone.contains(version.source) {
            try await deleteSource(of: version)
        }
    }

    /// Deletes one version that has been copied. If another client has just changed it, the copy is
    /// out of date and is deleted instead; the next listing shows the new version, which then moves.
    private func deleteSource(of version: Copied) async throws(ProviderError) {
        do throws(ProviderError) {
            try await remover.deleteVersion(version.source, version.etag, conditions)
        } catch {
            guard error.kind == .changed else { throw error }
            // The copy may be one of the new version.
            if version.isNoted, let file = version.file(below: from, etag: version.etag) {
                try noteCopies([file])
            }
            try await remover.deleteVersion(version.target, version.targetETag, conditions)
        }
    }
}
