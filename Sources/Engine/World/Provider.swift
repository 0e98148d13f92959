/// One cloud, reduced to what the engine needs of it.
///
/// A provider is small and stateless: it keeps no cache and no queue, never retries, and may be
/// asked anything again. Calls run side by side. Every call stops soon after its task is cancelled
/// and then throws `.cancelled`. Names that the cloud shows and a file system cannot are the
/// provider's business: what it lists has a valid ``FileName``.
package protocol Provider: Sendable {
    /// What this store can do: planned for, never found out by trying.
    var traits: ProviderTraits { get }

    /// Lists a directory, a page at a time, in no order. ``ObjectKey/root`` is always a directory.
    ///
    /// What is there from the first page to the last is listed exactly once. What is created,
    /// changed or deleted meanwhile may be missing or shown as it was.
    ///
    /// - Parameter page: nil for the first page, else the `next` of the page before.
    /// - Throws: `.missing`, `.wrongKind` if it is no directory.
    func list(
        _ directory: ObjectKey, page: PageToken?
    ) async throws(ProviderError) -> ListingPage

    /// Asks the store, also for ``ObjectKey/root``: that is how to find out whether it takes our
    /// credentials.
    ///
    /// - Throws: `.missing`.
    func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject

    /// Reads exactly `range` of one version of a file, handing the bytes to `sink` in ascending
    /// order, each once, in pieces of the provider's choosing.
    ///
    /// The version is the one named by `etag` from the first byte to the last, or the call throws;
    /// what was handed over before is then not to be trusted.
    ///
    /// - Parameter range: Within the file's size and not empty; offsets in bytes.
    /// - Throws: `.changed` if the store holds another version, `.missing`, `.corrupt` for a short
    ///   or damaged reply, `.sink` with what the sink threw.
    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError)

    /// Stores a whole file in one step: others see the old version or the new one, nothing between.
    ///
    /// - Parameters:
    ///   - base: What the key must hold for this to happen; HTTP's `If-Match` and `If-None-Match`.
    ///   - session: Hears how far it is, and keeps what is needed to go on after an interruption.
    /// - Returns: The object as the store now has it; its etag is that of the bytes just sent.
    /// - Throws: `.changed` if the key holds another version than `base`, `.exists` if `base` is
    ///   `.absent` and it holds something, `.missing` if the parent directory is gone, or `base`
    ///   names a version and the key holds nothing; `.full`, `.source` with what the source threw.
    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject

    /// Frees what the store keeps of an upload that nobody will go on with. Nothing there is fine.
    ///
    /// - Parameters:
    ///   - token: What the upload last gave to ``UploadSession/keep(_:)``.
    ///   - key: What it was to become.
    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError)

    /// - Throws: `.exists`, `.missing` if the parent directory is gone.
    func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject

    /// Makes a symbolic link. `target` is 1 to 4095 bytes, stored as they are.
    ///
    /// - Throws: `.exists`, `.missing` if the parent directory is gone, `.unsupported`.
    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject

    /// Sets what the store can keep of `attributes` on an existing object.
    ///
    /// - Parameter etag: For a file, the version that is expected; nil for the other kinds.
    /// - Returns: The object afterwards; the etag of a file may be a new one.
    /// - Throws: `.missing`, `.changed`.
    func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject

    /// Gives an object, a directory with all below it, another name or parent.
    ///
    /// - Parameters:
    ///   - etag: For a file, the version that is expected at `key`; nil for the other kinds.
    ///   - base: What `destination` must hold: nothing, or the file version to be replaced.
    ///   - continues: Whether an earlier call of this very move of a directory was cut short, so
    ///     that part of it may be at `destination` already. Only where
    ///     ``ProviderTraits/movesDirectoriesAtOnce`` is false.
    /// - Returns: The object at its destination; the etag of a file may be a new one.
    /// - Throws: `.missing` (the object or the destination's parent), `.changed` (the object, or
    ///   what is to be replaced), `.exists` if `base` is `.absent` and the destination is not.
    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject

    /// Deletes a file of one version, a symbolic link, or an empty directory.
    ///
    /// - Parameter etag: For a file, the version that is expected; nil for the other kinds.
    /// - Throws: `.missing`, `.changed`, `.notEmpty`.
    func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError)

    /// Whether two etags that the store gave out stand for one version: it may tell more of a version
    /// later than it did at first, but never less.
    ///
    /// - Parameters:
    ///   - former: What was told before.
    ///   - etag: What is told now.
    func isSame(_ former: ETag, as etag: ETag) -> Bool

    /// How much the store can hold; nil where it does not tell.
    func space() async throws(ProviderError) -> StorageSpace?

    /// An address under which everybody may read what is at a key, made if there is none yet.
    ///
    /// - Throws: `.missing`, `.denied`, `.unsupported` where the store has no such thing.
    func publicLink(to key: ObjectKey) async throws(ProviderError) -> String
}

extension Provider {
    package func isSame(_ former: ETag, as etag: ETag) -> Bool { former == etag }

    /// A move of which no earlier call was cut short.
    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion
    ) async throws(ProviderError) -> RemoteObject {
        try await move(key, etag: etag, to: destination, base: base, continues: false)
    }
}

/// The caller's side of one upload: what a provider, which keeps nothing itself, needs to go on
/// with it where an earlier try, or an earlier process, left off.
package protocol UploadSession: Sendable {
    /// What an earlier try with the same bytes, key and base last kept; nil where there is none.
    var token: UploadToken? { get }

    /// Keeps where the upload can be taken up again, and returns once that survives power loss.
    ///
    /// A provider calls it before the first byte goes out, with all it needs to ask the store
    /// later which parts have arrived; nil once nothing is left there to go on with.
    func keep(_ token: UploadToken?) throws

    /// Told now and then how many bytes the store has, ascending, those of earlier tries included:
    /// of an upload that goes on, the first call tells these. While an upload has to wait for its
    /// turn, it is told the same now and then.
    func noteSent(_ bytes: UInt64)
}

/// Where an upload can be taken up again; only its provider reads it. It holds no secret.
package struct UploadToken: Hashable, Sendable {
    package let rawValue: String

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

/// An upload that nobody watches and nobody goes on with.
package struct UntrackedUpload: UploadSession {
    package init() {}

    package var token: UploadToken? { nil }
    package func keep(_ token: UploadToken?) {}
    package func noteSent(_ bytes: UInt64) {}
}

/// Takes bytes at their offset, as they arrive. It blocks no longer than a write to disk.
package protocol ByteSink: Sendable {
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws

    /// Told now and then while a read has to wait for its turn: the store has not been asked yet.
    func noteWaiting()
}

extension ByteSink {
    package func noteWaiting() {}
}

/// Gives the bytes of one frozen version; any range, any number of times, from any thread.
package protocol ByteSource: Sendable {
    /// Length in bytes; it never changes.
    var size: UInt64 { get }

    /// Reads into `buffer` from `offset` on until the buffer is full or the source ends.
    ///
    /// - Returns: The bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int
}
