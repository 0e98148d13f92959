package import Engine
import Logging
import Synchronization
import Transport

/// A bucket of S3, or a part of it, as a cloud.
///
/// A file is an object, a directory an empty object whose key ends in `/`; where only objects
/// below it are there, it is a directory too. The version is the ETag. What a store does not do
/// is done without, see docs/providers.md.
package final class S3Provider: Provider {
    package let traits = ProviderTraits(
        name: "S3", keepsMode: true, keepsSymlinks: true, modifiedResolution: .nanoseconds(1),
        transfersMax: 16, movesDirectoriesAtOnce: false, listsDetails: false,
        extendedAttributes: S3Attributes.space)

    let client: S3Client
    let keys: S3KeyMap
    /// Where sources are read, which may block.
    let pool: BlockingPool
    /// What the store heeds, once it is known.
    let knownConditions = Mutex<S3Conditions?>(nil)
    /// One task at a time finds that out.
    let probing = KeyLocks()
    /// Objects with which the store was tried out and that it did not let us remove again.
    let leftProbes = Mutex<[S3Key]>([])

    init(_ client: S3Client) throws(SystemError) {
        self.client = client
        keys = S3KeyMap(prefix: client.settings.prefix)
        pool = try BlockingPool(name: "apus-s3", threads: 4)
    }

    /// Opens a source with an environment, and with sizes, that are not the process's own.
    ///
    /// - Parameters:
    ///   - source: As a user writes it.
    ///   - environment: What counts instead of the process's variables.
    ///   - partBytes: Above this, files go in parts; S3 takes 5 MiB or more.
    ///   - copyBytesMax: Above this, copies go in parts of this size.
    ///   - pageEntries: How many objects a listing shows at a time.
    package static func connect(
        to source: String, environment: [String: String], world: SourceWorld,
        partBytes: UInt64 = 16 << 20, copyBytesMax: UInt64 = 5 << 30, pageEntries: Int = 1_000
    ) async throws(SourceError) -> S3Provider {
        var limits = S3Settings.Limits()
        limits.partBytes = partBytes
        limits.copyBytesMax = copyBytesMax
        limits.copyPartBytes = min(limits.copyPartBytes, copyBytesMax)
        limits.pageEntries = pageEntries
        let parsed = try S3Source(parsing: source.dropFirst("s3:".count)).with(limits)
        return try await parsed.connect(
            world, environment: S3Environment(values: environment, read: S3Environment.current.read)
        )
    }

    var limits: S3Settings.Limits { client.settings.limits }

    /// Makes sure that the bucket is there and may be listed.
    ///
    /// - Returns: Whether there is anything.
    func check() async throws(ProviderError) -> Bool {
        try await !client.list(
            prefix: keys.prefix, delimiter: false, max: 1, "list the bucket"
        ).objects.isEmpty
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        throw ProviderError(
            .unsupported, attempt: "make a link to \"\(key)\"",
            reason: "what is public in a bucket is for its policy to say",
            remedy: "mount the bucket as rclone:NAME:BUCKET, which makes addresses for a week")
    }

    /// A bucket does not tell.
    package func space() async throws(ProviderError) -> StorageSpace? {
        try checkCancelled("ask for the space")
        return nil
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        let attempt = "stat \"\(key)\""
        if key == .root {
            // It is always there; whether the store takes our credentials, only a request tells.
            _ = try await client.list(
                prefix: keys.place(of: .root).directory, delimiter: false, max: 1, attempt)
        }
        guard let found = try await look(key, attempt) else { throw missing(attempt) }
        return try await object(key, found, attempt)
    }

    // MARK: Looking

    /// What is at a key.
    enum Found: Sendable {
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
    }

    func look(_ key: ObjectKey, _ attempt: String) async throws(ProviderError) -> Found? {
        try checkCancelled(attempt)
        let place = keys.place(of: key)
        if let file = place.file, let head = try await client.head(file, attempt) {
            if !place.isMarkerBytes || head.size > 0 { return .object(head) }
        }
        if place.isMarkerBytes { return nil }
        return try await lookForDirectory(place, isRoot: key == .root, attempt)
    }

    /// Asks for a listing, since some stores answer HEAD for directories long gone.
    func lookForDirectory(
        _ place: S3KeyMap.Place, isRoot: Bool, _ attempt: String
    ) async throws(ProviderError) -> Found? {
        if isRoot { return .directory(nil) }
        let listing = try await client.list(
            prefix: place.directory, delimiter: false, max: 1, attempt)
        guard let first = listing.objects.first else {
            if place.isBeginning { return nil }
            let marker = try await client.head(place.folderMarker, attempt)
            return marker.map { .directory($0) }
        }
        guard first.key == place.marker, !place.isBeginning else { return .directory(nil) }
        return .directory(try await client.head(place.marker, attempt))
    }

    func object(
        _ key: ObjectKey, _ found: Found, _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        let name = key.names.last ?? rootName
        switch found {
        case .directory(let head):
            return RemoteObject(
                name: name, kind: .directory, etag: nil, size: 0,
                modified: head.map(modified) ?? Timestamp(nanoseconds: 0),
                mode: head?.metadata.mode,
                extendedAttributes: head?.metadata.extendedAttributes ?? ExtendedAttributes())
        case .object(let head) where head.metadata.isSymlink:
            guard let target = try await target(key, head, attempt) else { fallthrough }
            return RemoteObject(
                name: name, kind: .symlink, etag: head.etag, size: 0, modified: modified(head),
                mode: head.metadata.mode, target: target)
        case .object(let head):
            return RemoteObject(
                name: name, kind: .file, etag: head.etag, size: head.size,
                modified: modified(head), mode: head.metadata.mode, written: head.written,
                extendedAttributes: head.metadata.extendedAttributes)
        }
    }

    private func modified(_ head: S3Head) -> Timestamp { head.metadata.modified ?? head.modified }

    /// Where a link points: in its metadata if we wrote it, in its body as s3fs has it.
    private func target(
        _ key: ObjectKey, _ head: S3Head, _ attempt: String
    ) async throws(ProviderError) -> [UInt8]? {
        if let target = head.metadata.target { return target }
        guard (1...4095).contains(head.size), let file = keys.place(of: key).file else {
            return nil
        }
        var call = S3Client.Call(.get, file)
        call.headers = [S3Condition.version(head.etag).header]
        let (_, body) = try await client.ask(call, attempt, bytesMax: 8 << 10)
        return body.count == Int(head.size) && !body.contains(0) ? body : nil
    }

    private var rootName: FileName {
        guard let name = FileName("root") else { preconditionFailure("`root` is a file name") }
        return name
    }

    // MARK: Errors

    func checkCancelled(_ attempt: String) throws(ProviderError) {
        if Task.isCancelled {
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled")
        }
    }

    func missing(_ attempt: String) -> ProviderError {
        ProviderError(.missing, attempt: attempt, reason: "there is nothing of this name")
    }

    func exists(_ attempt: String) -> ProviderError {
        ProviderError(.exists, attempt: attempt, reason: "something has this name")
    }

    func changed(_ attempt: String) -> ProviderError {
        ProviderError(.changed, attempt: attempt, reason: "it is another version")
    }

    static let renaming = "rename it, then it is sent"

    /// The key of a file that may be written.
    ///
    /// - Parameter base: A version is there already, so that its place need not be one in which
    ///   something new can be made.
    /// - Throws: `.unsupported` for what no store keeps as it is.
    func fileKey(
        _ key: ObjectKey, base: BaseVersion = .absent, _ attempt: String
    ) async throws(ProviderError) -> S3Key {
        let place = keys.place(of: key)
        guard let file = place.file else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "names that end like this stand for directories that others have made",
                remedy: Self.renaming)
        }
        guard !place.isMarkerBytes else { throw markerBytes(attempt) }
        guard key.names.last.map({ !S3Probe.isProbe($0.bytes) }) ?? true else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "such names are kept for trying a store out", remedy: Self.renaming)
        }
        try checkKey(file, attempt)
        try await checkKept(file, attempt)
        let parent = key.parent.map(keys.place) ?? place
        guard base != .absent || !parent.isBeginning else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "nothing can be made in the beginning of a long key",
                remedy: "move it to another directory")
        }
        return file
    }

    func markerBytes(_ attempt: String) -> ProviderError {
        ProviderError(
            .unsupported, attempt: attempt,
            reason: "this name stands for what is in the object of the directory itself",
            remedy: Self.renaming)
    }

    func checkKey(_ key: S3Key, _ attempt: String) throws(ProviderError) {
        guard key.isText else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "S3 keeps names in UTF-8 only",
                remedy: Self.renaming)
        }
    }
}
