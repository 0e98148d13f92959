import Engine
import Transport

/// The object or directory that a key names.
enum S3Node: Sendable {
    /// A file or a symbolic link.
    case object(S3Head)
    /// With the head of its marker, if it has one.
    case directory(S3Head?)

    var head: S3Head? {
        switch self {
        case .object(let head): head
        case .directory(let head): head
        }
    }

    var kind: FileKind {
        switch self {
        case .object(let head): head.metadata.isSymlink ? .symlink : .file
        case .directory: .directory
        }
    }

    /// Checks the version that the caller expects.
    ///
    /// - Parameter etag: nil for a directory or a symbolic link.
    /// - Throws: `.wrongKind`, `.changed`.
    func check(_ etag: ETag?) throws(ProviderError) {
        guard (kind == .file) == (etag != nil) else {
            throw ProviderError(.wrongKind, "it is not of the expected kind")
        }
        if let etag, head?.etag != etag { throw S3Failure.changed }
    }
}

/// Reads a bucket as a tree of files and directories.
struct S3Tree: Sendable {
    let client: S3Client
    let keys: S3KeyMap
    /// Of the directories in which files are created.
    let recentListings = S3RecentListings()

    init(_ client: S3Client) {
        self.client = client
        keys = S3KeyMap(prefix: client.settings.prefix)
    }

    /// - Returns: nil if nothing has this key.
    func node(at key: ObjectKey) async throws(ProviderError) -> S3Node? {
        let place = keys.place(of: key)
        if let file = place.file, let head = try await client.head(file) {
            if !place.isMarkerBytes || head.size > 0 { return .object(head) }
        }
        if key == .root { return .directory(nil) }
        return place.isMarkerBytes ? nil : try await directory(at: place)
    }

    /// As ``node(at:)``, with the first bytes of a file.
    ///
    /// - Parameter count: The number of bytes, at most.
    func start(
        at key: ObjectKey, bytes count: Int
    ) async throws(ProviderError) -> (node: S3Node?, bytes: [UInt8]) {
        let place = keys.place(of: key)
        guard let file = place.file, !place.isMarkerBytes else {
            return (try await node(at: key), [])
        }
        if let (head, bytes) = try await client.start(of: file, bytes: count) {
            return (.object(head), bytes)
        }
        return (try await directory(at: place), [])
    }

    /// - Throws: `.missing`.
    func requireNode(at key: ObjectKey) async throws(ProviderError) -> S3Node {
        guard let node = try await node(at: key) else { throw S3Failure.missing }
        return node
    }

    /// Lists, since some stores answer a HEAD for a directory that is long gone. Most directories have a
    /// marker, so it is looked at meanwhile.
    private func directory(at place: S3KeyMap.Place) async throws(ProviderError) -> S3Node? {
        guard !place.isBeginning else {
            return try await firstKey(below: place).map { _ in .directory(nil) }
        }
        async let look = markerHead(at: place)
        let first = try await firstKey(below: place)
        let head = await look
        guard let first else {
            return try await client.head(place.folderMarker).map { .directory($0) }
        }
        return .directory(first == place.marker ? try head.get() : nil)
    }

    private func markerHead(at place: S3KeyMap.Place) async -> Result<S3Head?, ProviderError> {
        do throws(ProviderError) {
            return .success(try await client.head(place.marker))
        } catch {
            return .failure(error)
        }
    }

    /// - Returns: nil if the directory has neither a marker nor anything below it.
    func firstKey(
        below place: S3KeyMap.Place, waitsForTurn: Bool = true
    ) async throws(ProviderError) -> S3Key? {
        try await client.list(
            prefix: place.directory, delimiter: false, max: 1, waitsForTurn: waitsForTurn
        ).objects.first?.key
    }

    // MARK: Nodes as objects

    func object(_ key: ObjectKey, _ node: S3Node) async throws(ProviderError) -> RemoteObject {
        let name = key.names.last ?? rootName
        switch node {
        case .directory(let head):
            return RemoteObject(
                name: name, kind: .directory, etag: nil, size: 0,
                modified: head.map(modified) ?? Timestamp(nanoseconds: 0),
                mode: head?.metadata.mode,
                extendedAttributes: head?.metadata.extendedAttributes ?? ExtendedAttributes())
        case .object(let head) where head.metadata.isSymlink:
            guard let target = try await target(key, head) else { fallthrough }
            return RemoteObject(
                name: name, kind: .symlink, etag: head.etag, size: 0, modified: modified(head),
                mode: head.metadata.mode, target: target)
        case .object(let head):
            return RemoteObject(
                name: name, kind: .file, etag: head.etag, size: head.size,
                modified: modified(head), mode: head.metadata.mode,
                remoteModified: head.remoteModified,
                extendedAttributes: head.metadata.extendedAttributes, nonce: head.metadata.nonce)
        }
    }

    /// Returns a directory whose marker was just written, as the store keeps it.
    func directory(_ key: ObjectKey, marker: S3Key) async throws(ProviderError) -> RemoteObject {
        try await object(key, .directory(try await client.head(marker)))
    }

    private func modified(_ head: S3Head) -> Timestamp { head.metadata.modified ?? head.modified }

    /// Reads the target of a symbolic link: Apus writes it to the metadata, s3fs to the body.
    private func target(_ key: ObjectKey, _ head: S3Head) async throws(ProviderError) -> [UInt8]? {
        if let target = head.metadata.target { return target }
        guard (1...4095).contains(head.size), let file = keys.place(of: key).file else {
            return nil
        }
        let call = S3Client.Call(
            method: .get, key: file, headers: [S3Condition.version(head.etag).header])
        let (_, body) = try await client.ask(call, bytesMax: 8 << 10)
        return body.count == Int(head.size) && !body.contains(0) ? body : nil
    }

    private var rootName: FileName {
        guard let name = FileName("root") else { preconditionFailure("`root` is a file name") }
        return name
    }

    // MARK: Checks before a change

    /// Checks that an object can be created at `key`: its parent exists, and nothing has the name.
    ///
    /// - Parameter looksForFile: false if the request itself will carry the condition.
    /// - Throws: `.exists`, `.missing`.
    func checkNew(_ key: ObjectKey, looksForFile: Bool) async throws(ProviderError) {
        guard let parent = key.parent else { throw S3Failure.exists }
        let place = keys.place(of: key)
        async let isParentThere: Void = checkParent(parent)
        async let below = firstKey(below: place)
        do {
            try await isParentThere
            guard try await below == nil else { throw S3Failure.exists }
        } catch let error as ProviderError {
            throw error
        } catch {
            throw ProviderError(.unreachable, "\(error)", cause: error)
        }
        if looksForFile, let file = place.file, try await client.head(file) != nil {
            throw S3Failure.exists
        }
    }

    /// As ``checkNew(_:looksForFile:)``, for a file that may be one of many in its directory.
    func checkNewFile(_ key: ObjectKey, looksForFile: Bool) async throws(ProviderError) {
        guard let parent = key.parent else { throw S3Failure.exists }
        let place = keys.place(of: key)
        let listing = try await recentListings.listing(of: parent, by: client.clock) {
            () async throws(ProviderError) in try await self.listing(of: parent)
        }
        let mayBeThere =
            switch listing {
            case .directories(let directories): directories.contains(place.directory)
            case .tooLong: true
            }
        // An answer from before may be of a directory that is gone, and SeaweedFS lists some that are.
        if mayBeThere, try await firstKey(below: place) != nil { throw S3Failure.exists }
        if looksForFile, let file = place.file, try await client.head(file) != nil {
            throw S3Failure.exists
        }
    }

    /// - Throws: `.missing`.
    private func listing(
        of directory: ObjectKey
    ) async throws(ProviderError) -> S3RecentListings.Listing {
        let place = keys.place(of: directory)
        let page = try await client.list(prefix: place.directory, delimiter: true)
        // SeaweedFS lists folders that others have emptied, even in a directory that is gone.
        if page.objects.isEmpty { try await checkParent(directory) }
        return page.next == nil ? .directories(Set(page.prefixes)) : .tooLong
    }

    /// - Throws: `.missing`.
    func checkParent(_ parent: ObjectKey) async throws(ProviderError) {
        if parent == .root { return }
        let place = keys.place(of: parent)
        if try await firstKey(below: place) != nil { return }
        if try await client.head(place.folderMarker) != nil { return }
        throw ProviderError(.missing, "there is no directory \"\(parent)\"")
    }

    /// Checks the condition of a request by a HEAD.
    ///
    /// - Throws: `.exists`, `.missing`, `.changed`.
    func check(_ condition: S3Condition, at file: S3Key) async throws(ProviderError) {
        let head = try await client.head(file)
        switch condition {
        case .absent: if head != nil { throw S3Failure.exists }
        case .version(let etag):
            guard let head else { throw S3Failure.missing }
            if head.etag != etag { throw S3Failure.changed }
        }
    }

    /// Checks everything that the condition of a request does not cover.
    ///
    /// - Parameter looksForFile: Whether ``BaseVersion/absent`` is checked for files as well.
    /// - Returns: The head of the file to be replaced; nil if there is none.
    /// - Throws: `.exists`, `.missing`, `.wrongKind`, `.changed`.
    func checkBase(
        _ base: BaseVersion, at key: ObjectKey, looksForFile: Bool
    ) async throws(ProviderError) -> S3Head? {
        guard case .version(let etag) = base else {
            try await checkNewFile(key, looksForFile: looksForFile)
            return nil
        }
        guard case .object(let head) = try await requireNode(at: key) else {
            throw S3Failure.isDirectory
        }
        guard head.etag == etag else { throw S3Failure.changed }
        return head
    }
}
