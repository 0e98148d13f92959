/// A cloud store, reduced to the operations that the engine needs.
///
/// A provider is small and, except for its ``ListingCursor``s, stateless: it has neither cache nor
/// queue, never retries, and accepts repeated calls. Calls may run concurrently. Each call stops soon after its task is
/// cancelled, and then throws `.cancelled`; a read does so in any case, as a mount waits for it
/// when it ends. Transfers have no deadline: if a network is involved, and once it is their
/// turn, ``read(_:range:etag:into:)`` and ``write(_:from:attributes:base:session:)`` throw
/// `.unreachable` after 30 seconds in which no byte moved, or 10 minutes in which a request that is
/// sent completely is not answered. The provider handles names that the cloud has but a file system
/// cannot have: every listed object has a valid ``FileName``. It calls ``SignOfLife/note`` when bytes of
/// an answer arrive.
package protocol Provider: Sendable {
    /// The capabilities of this store. Plans rely on them; they are never probed.
    var traits: ProviderTraits { get }

    /// Lists a directory page by page, in no order. ``ObjectKey/root`` is always a directory.
    ///
    /// Objects that exist from the first page to the last are listed exactly once. Objects that are
    /// created, changed or deleted meanwhile may be missing or outdated.
    ///
    /// - Returns: A cursor before the first page. It throws `.missing`, and `.wrongKind` if this
    ///   is not a directory.
    func entries(of directory: ObjectKey) -> ListingCursor

    /// Returns if the store answers and accepts the credentials.
    ///
    /// The request is the cheapest one of this store: its cost does not grow with the number of
    /// objects. It never waits for other calls of this provider, neither for a place among the
    /// requests nor for a thread.
    ///
    /// - Throws: Any refusal shows that the store answers; `.unreachable` if it does not,
    ///   `.unauthorized`.
    func probe() async throws(ProviderError)

    /// Returns the metadata of an object. It always asks the store, also for ``ObjectKey/root``.
    ///
    /// - Throws: `.missing`.
    func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject

    /// Whether ``stat(_:firstBytes:)`` costs no more round trips than ``stat(_:)``, and gives bytes of
    /// most files.
    var givesFirstBytes: Bool { get }

    /// Returns the metadata of an object, and if it is a file, its first bytes as well.
    ///
    /// All bytes are from the version in the metadata. There are none if that is not certain, or the
    /// store takes much longer for them.
    ///
    /// - Parameter count: The number of bytes, unless the file has fewer; above 0.
    /// - Throws: As ``stat(_:)``.
    func stat(
        _ key: ObjectKey, firstBytes count: Int
    ) async throws(ProviderError) -> ObjectStart

    /// Reads exactly `range` of one version of a file. Passes the bytes to `sink` in ascending
    /// order, each once, in pieces of any size.
    ///
    /// All bytes are from the version `etag`, or the call throws; then the bytes passed so far must
    /// not be trusted, except those for which the sink was told that their version is confirmed.
    ///
    /// - Parameter range: Not empty and within the file's size; offsets in bytes.
    /// - Throws: `.changed` if the store has another version, `.missing`, `.corrupt` for a
    ///   truncated or damaged reply, `.sink` with the sink's error.
    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError)

    /// Returns the checksum that the store keeps of all bytes of a version; nil if it keeps none.
    /// Called only if ``ProviderTraits/keepsChecksums`` is true.
    ///
    /// - Throws: `.missing`, `.changed`.
    func checksum(
        of key: ObjectKey, etag: ETag
    ) async throws(ProviderError) -> (any ContentChecksum)?

    /// Whether the first change would have to wait for ``prepareForChanges()``.
    var preparesForChanges: Bool { get }

    /// Tests the store, or does whatever else the first change needs and has not been done yet.
    ///
    /// Called while the first change settles. If it fails, the change itself does it, and meets the
    /// failure.
    func prepareForChanges() async throws(ProviderError)

    /// Stores a whole file in one step: readers see the old version or the new one, nothing
    /// between.
    ///
    /// - Parameters:
    ///   - base: The required state of the key; HTTP's `If-Match` and `If-None-Match`.
    ///   - session: Receives the progress, and keeps the data for resuming after an interruption.
    /// - Returns: The object as stored; its etag is that of the bytes just sent.
    /// - Throws: `.changed` if the key has another version than `base`, `.exists` if `base` is
    ///   `.absent` and the key has an object, `.missing` if the parent directory does not exist, or
    ///   `base` is a version and the key has no object; `.full`, `.source` with the source's error.
    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject

    /// Frees the store's data of an upload that will not be resumed. Missing data is not an error.
    ///
    /// - Parameters:
    ///   - token: The last argument of ``UploadSession/keep(_:)``.
    ///   - key: The intended key.
    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError)

    /// - Throws: `.exists`, `.missing` if the parent directory does not exist.
    func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject

    /// Creates a symbolic link. `target` is 1 to 4095 bytes, stored unchanged.
    ///
    /// - Throws: `.exists`, `.missing` if the parent directory does not exist, `.unsupported`.
    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject

    /// Sets those `attributes` of an existing object that the store can keep.
    ///
    /// - Parameters:
    ///   - fields: The attributes to set; another client may have changed the others meanwhile, so
    ///     they stay as they are at the store. Those that it does not have may be set as well.
    ///   - etag: For a file, the expected version; nil for other kinds.
    ///   - nonce: Identifies the bytes of a file. A store that gives it another etag keeps this with
    ///     the new version, if it can, see ``UploadSession/nonce``.
    /// - Returns: The object afterwards; the etag of a file may have changed.
    /// - Throws: `.missing`, `.changed`.
    func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject

    /// Moves an object, or a directory with its contents, to another name or parent.
    ///
    /// A store that copies a file first, and is then refused the deletion of the original, either
    /// deletes the copy, or leaves it there and throws.
    ///
    /// - Parameters:
    ///   - etag: For a file, the expected version at `key`; nil for other kinds.
    ///   - base: The required state of `destination`: absent, or the file version to be replaced.
    ///   - continues: Whether an earlier call of this same directory move was interrupted, so that
    ///     part of it may be at `destination` already. Used only if
    ///     ``ProviderTraits/movesDirectoriesAtOnce`` is false.
    ///   - nonce: As in ``setAttributes(_:to:only:etag:nonce:)``.
    ///   - noteCopies: Called with the files of a moved directory that have other etags in the new place, before
    ///     the originals are deleted.
    /// - Returns: The object at its destination; the etag of a file may have changed.
    /// - Throws: `.missing` (the object or the destination's parent), `.changed` (the object, or
    ///   the file to be replaced), `.exists` if `base` is `.absent` and the destination is not.
    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject

    /// Deletes one version of a file, a symbolic link, or an empty directory.
    ///
    /// - Parameter etag: For a file, the expected version; nil for other kinds.
    /// - Throws: `.missing`, `.changed`, `.notEmpty`.
    func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError)

    /// Whether two etags from the store denote the same version: a later etag may have more detail
    /// than an earlier one, never less.
    ///
    /// - Parameters:
    ///   - former: The earlier etag.
    ///   - etag: The current etag.
    func isSame(_ former: ETag, as etag: ETag) -> Bool

    /// Whether two etags are certain to denote the same bytes, with other attributes or in another
    /// place.
    func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool

    /// Returns the store's capacity; nil if the store does not report it.
    func space() async throws(ProviderError) -> StorageSpace?

    /// Returns a URL at which anyone can read the object; creates it if there is none yet.
    ///
    /// - Throws: `.missing`, `.denied`, `.unsupported` if the store has no public links.
    func publicLink(to key: ObjectKey) async throws(ProviderError) -> String

    /// Begins to follow a directory: ``changes(since:)`` reports it after each change of its names,
    /// or of versions and, if the store can tell, attributes in it, and once something else is at its
    /// key, or it is not followed any more. A listing that begins after such a report shows the change.
    ///
    /// A repeated call is cheap.
    ///
    /// - Returns: Whether all changes from before the return on are reported; false if the store
    ///   cannot follow this directory, or ``changes(since:)`` was not called before.
    func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool

    /// Ends what ``follow(_:)`` began. Waits for nothing.
    func unfollow(_ directory: ObjectKey)

    /// Waits for changes in followed directories, also by this client.
    ///
    /// Repeats are harmless, and nothing is skipped: a report that was lost comes again, as the next
    /// call has the anchor from before it. It has no deadline, and ends at once if its task is
    /// cancelled.
    ///
    /// - Parameter anchor: That of the last report; nil to begin, which is answered at once.
    /// - Returns: The changes after `anchor`; possibly none after some time.
    /// - Throws: `.unsupported` if the store reports none.
    func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport
}

extension Provider {
    package var givesFirstBytes: Bool { false }

    package func stat(
        _ key: ObjectKey, firstBytes count: Int
    ) async throws(ProviderError) -> ObjectStart {
        ObjectStart(object: try await stat(key), bytes: [])
    }

    package var preparesForChanges: Bool { false }

    package func prepareForChanges() async throws(ProviderError) {}

    package func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool { false }

    package func unfollow(_ directory: ObjectKey) {}

    package func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        throw ProviderError(.unsupported, "\(traits.name) reports no changes")
    }

    package func isSame(_ former: ETag, as etag: ETag) -> Bool { former == etag }

    package func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool { isSame(former, as: etag) }

    package func checksum(
        of key: ObjectKey, etag: ETag
    ) async throws(ProviderError) -> (any ContentChecksum)? { nil }

    /// Moves an object without a nonce to recognise it by, and without a record of copies.
    ///
    /// - Parameter continues: Whether an earlier call was interrupted.
    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool = false
    ) async throws(ProviderError) -> RemoteObject {
        try await move(
            key, etag: etag, to: destination, base: base, continues: continues, nonce: nil
        ) { _ in }
    }
}

/// A file that a store has copied while it moves the directory above it, and that has another etag since.
package struct CopiedFile: Hashable, Sendable {
    /// The names below the directory, the last one that of the file.
    package var path: [FileName]
    package var former: ETag
    package var etag: ETag

    package init(path: [FileName], former: ETag, etag: ETag) {
        self.path = path
        self.former = former
        self.etag = etag
    }
}

/// Stores the etags of copies; returns once they survive the end of the process.
package typealias CopyNote = @Sendable ([CopiedFile]) throws(ProviderError) -> Void

/// The caller's side of one upload, which keeps the data that a stateless provider needs to resume
/// it after an earlier attempt, or in a later process.
package protocol UploadSession: Sendable {
    /// The last token kept by an earlier attempt with the same bytes, key and base; nil if there is
    /// none.
    var token: UploadToken? { get }

    /// Identifies the bytes. A store that can keep it does so with them, in the same step if it can,
    /// and reports it as ``RemoteObject/nonce``: if the answer is lost, it shows whose bytes are
    /// there. nil if that is never needed.
    var nonce: WriteNonce? { get }

    /// Stores the position from which the upload can be resumed; returns once it survives power
    /// loss.
    ///
    /// A provider calls it before it sends the first byte, with all it needs to find out later
    /// which parts have arrived; with nil once there is nothing to resume.
    func keep(_ token: UploadToken?) throws

    /// Stores the etag that the object will have; returns once it survives the end of this process,
    /// and with ``ProviderTraits/announcesWrites`` also power loss.
    ///
    /// A provider that knows it beforehand calls it before the step that makes the bytes visible.
    ///
    /// - Throws: If it cannot be stored, or the upload is no longer wanted; then the bytes must not
    ///   become visible.
    func expect(_ etag: ETag) throws

    /// Keeps a proof by which the bytes are recognised if the answer is lost; returns once it survives
    /// power loss. It may have to read all of them.
    ///
    /// A provider calls it before the step that makes the bytes visible, unless
    /// ``ProviderTraits/recognisesWrites`` is true or the bytes have the nonce by then.
    func keepProof() async throws

    /// Called from time to time with the number of bytes that the store has, ascending and
    /// including those of earlier attempts: when an upload is resumed, the first call reports
    /// these. An upload that waits for its turn repeats the last number.
    func noteSent(_ bytes: UInt64)
}

extension UploadSession {
    package func keepProof() async throws {}
}

/// The data for resuming an upload; opaque except to its provider. It contains no secret.
package struct UploadToken: Hashable, Sendable {
    package let rawValue: String

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

/// An upload that is neither observed nor resumed.
package struct UntrackedUpload: UploadSession {
    package init() {}

    package var token: UploadToken? { nil }
    package var nonce: WriteNonce? { nil }
    package func keep(_ token: UploadToken?) {}
    package func expect(_ etag: ETag) {}
    package func noteSent(_ bytes: UInt64) {}
}

/// The checksum of bytes in ascending order, beside the one that the store keeps of a whole version.
package protocol ContentChecksum: Sendable {
    mutating func update(_ bytes: UnsafeRawBufferPointer)

    /// The checksum of the bytes so far.
    var value: [UInt8] { get }

    /// The checksum of all bytes of the version, according to the store.
    var expected: [UInt8] { get }

    /// Whether the store says that it is a checksum. Otherwise it only looks so, as an etag may.
    var isDeclared: Bool { get }
}

/// Receives bytes at their offset, as they arrive. It blocks no longer than a write to disk.
package protocol ByteSink: Sendable {
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws

    /// Tells that the bytes of `range` are certain to be those of the requested version, even if the
    /// call fails later: those passed on before, and those that follow.
    ///
    /// A provider calls it as soon as the store has confirmed their version: with the header of its
    /// answer, for example. It may do so again with a longer range from the same start. One that can
    /// confirm it only at the end, or checks the bytes then, does not call it.
    func confirm(_ range: Range<UInt64>)
}

extension ByteSink {
    package func confirm(_ range: Range<UInt64>) {}
}

/// Provides the bytes of one frozen version: any range, any number of times, on any thread.
package protocol ByteSource: Sendable {
    /// Length in bytes; it never changes.
    var size: UInt64 { get }

    /// Reads into `buffer`, starting at `offset`, until the buffer is full or the source ends.
    ///
    /// - Returns: The number of bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int
}
