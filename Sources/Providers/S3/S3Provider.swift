package import Engine
import ProviderSupport
import SystemCalls

/// A bucket of S3, or a part of it, as a cloud.
///
/// A file is an object, a directory an empty object whose key ends in `/`; a name with only objects
/// below it is a directory, too. The version is the ETag. docs/providers.md says how Apus copes with
/// stores that lack a feature.
package final class S3Provider: Provider {
    package let traits = ProviderTraits(
        name: "S3", keepsMode: true, keepsSymlinks: true, modifiedResolution: .nanoseconds(1),
        transfersMax: 16, movesDirectoriesAtOnce: false, listsMetadata: false,
        extendedAttributes: S3Attributes.space)

    let tree: S3Tree
    let probe: S3ConditionProbe
    let leftUploads: S3LeftUploads
    private let directories: S3Directories
    private let writer: S3Writer
    private let attributeWriter: S3AttributeWriter
    private let mover: S3Mover
    private let remover: S3Remover

    init(_ client: S3Client) throws(SystemError) {
        tree = S3Tree(client)
        let prefix = tree.keys.prefix
        leftUploads = S3LeftUploads(client: client, prefix: prefix)
        probe = S3ConditionProbe(client, prefix: prefix, leftUploads: leftUploads)
        let rules = S3KeyRules(keys: tree.keys, probe: probe)
        let copier = S3Copier(client: client, probe: probe)
        directories = S3Directories(tree: tree, rules: rules)
        writer = S3Writer(
            tree: tree, rules: rules, copier: copier, hasher: try S3Hasher(),
            leftUploads: leftUploads)
        attributeWriter = S3AttributeWriter(tree: tree, directories: directories, copier: copier)
        remover = S3Remover(tree: tree, directories: directories, probe: probe)
        mover = S3Mover(tree: tree, directories: directories, copier: copier, remover: remover)
    }

    /// Checks that the bucket exists and may be listed.
    ///
    /// - Returns: Whether it holds anything below the prefix.
    func check() async throws(ProviderError) -> Bool {
        try await tree.firstKey(below: tree.keys.place(of: .root)) != nil
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        if key == .root {
            // The root always exists, but only a request shows whether the credentials are accepted.
            _ = try await tree.firstKey(below: tree.keys.place(of: .root))
        }
        return try await tree.object(key, try await tree.requireNode(at: key))
    }

    /// A bucket has no size.
    package func space() async throws(ProviderError) -> StorageSpace? {
        try S3Failure.checkCancelled()
        return nil
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        throw S3Failure.unsupported(
            "the bucket's policy decides what is public",
            remedy: "mount the bucket as rclone:NAME:BUCKET, which makes addresses for a week")
    }

    // MARK: Changes

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try S3Failure.checkCancelled()
        return try await writer.write(
            key, from: source, attributes: attributes, base: base, session: session)
    }

    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        try S3Failure.checkCancelled()
        guard let file = tree.keys.place(of: key).file else { return }
        if let begun = S3UploadToken(token) {
            try await tree.client.abortUpload(begun.upload, file)
        } else if let lost = S3UploadIntent(token) {
            try await leftUploads.abortLost(lost, of: file)
        }
    }

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try S3Failure.checkCancelled()
        return try await directories.create(key, attributes: attributes)
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try S3Failure.checkCancelled()
        return try await writer.createSymlink(key, target: target, attributes: attributes)
    }

    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        try await attributeWriter.set(attributes, on: key, etag: etag)
    }

    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        try await mover.move(key, etag: etag, to: destination, base: base, continues: continues)
    }

    package func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        try await remover.delete(key, kind: kind, etag: etag)
    }
}
