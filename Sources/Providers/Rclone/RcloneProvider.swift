import Engine
import Logging
import ProviderSupport
import SystemCalls

/// One of the clouds that rclone knows, through an rclone of our own.
///
/// Few of them have conditional writes, and rclone uses none. So a key is looked at right before and
/// right after each change; a change by another client in between goes unnoticed. Changes through
/// one provider exclude each other.
struct RcloneProvider: Provider {
    var traits: ProviderTraits
    let remote: RcloneRemote
    let spool: RcloneSpool
    let locks = KeyedMutex()
    let names: RcloneNameCheck
    private let logger: Logger

    init(_ remote: RcloneRemote, spool: RcloneSpool, logger: Logger) {
        self.remote = remote
        self.logger = logger
        traits = ProviderTraits(
            name: remote.name, keepsMode: false, keepsSymlinks: false,
            modifiedResolution: remote.opened.modifiedResolution, transfersMax: 8,
            movesDirectoriesAtOnce: remote.features.movesDirectories,
            storesAttributesAtOnce: false,
            names: remote.features.foldsNames ? .caseless : .exact)
        self.spool = spool
        names = RcloneNameCheck(remote, spool)
    }

    func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try await remote.requireObject(at: key)
    }

    func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool {
        remote.meaning.hasSameBytes(former, as: etag)
    }

    func probe() async throws(ProviderError) {
        try await remote.probe()
    }

    /// rclone answers with the whole directory at once; its entries are passed on in pages.
    func entries(of directory: ObjectKey) -> ListingCursor {
        ListingCursor(nil as RcloneListing?) { listing async throws(ProviderError) in
            try throwIfCancelled()
            var current: RcloneListing
            if let listing { current = listing } else { current = try await list(directory) }
            let page = try current.page(entries: Self.pageEntries)
            listing = current
            return page
        }
    }

    private static let pageEntries = 1_000

    private func list(_ directory: ObjectKey) async throws(ProviderError) -> RcloneListing {
        let path = try remote.existingPath(of: directory)
        let listing: RcloneListing
        do {
            listing = try await remote.listing(of: path)
        } catch {
            guard [.missing, .wrongKind].contains(error.kind) else { throw error }
            // Each remote has its own words for a file where a directory was expected.
            let isFile = try await remote.object(at: directory)?.kind == .file
            throw ProviderError(isFile ? .wrongKind : .missing, error.reason)
        }
        if listing.isEmpty, !remote.features.keepsEmptyDirectories, !directory.names.isEmpty {
            // If directories are only parts of file names, any name can be listed.
            let kind = try await remote.object(at: directory)?.kind
            guard kind == .directory else {
                throw ProviderError(kind == nil ? .missing : .wrongKind, "it is not a directory")
            }
        }
        if let name = listing.unsized.min() {
            logger.warning(
                "files hidden because the remote does not tell their size",
                metadata: [
                    "directory": "\(directory)", "count": "\(listing.unsized.count)",
                    "first": "\(name)",
                ])
        }
        return listing
    }

    func space() async throws(ProviderError) -> StorageSpace? {
        guard remote.features.tellsSpace else { return nil }
        let about: RcloneAbout = try await remote.client.call("operations/about", remote.input())
        return RcloneMeaning.space(about)
    }

    func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        guard remote.features.makesPublicLinks else {
            throw ProviderError(
                .unsupported, "\(traits.name) has no public links",
                remedy: "share it on the cloud's own page, if it has one")
        }
        let path = try remote.existingPath(of: key)
        let answer: RclonePublicLink = try await remote.client.call(
            "operations/publiclink", remote.input(path))
        // The link is shown in a terminal and clicked there.
        guard answer.url.hasPrefix("https://") || answer.url.hasPrefix("http://"),
            answer.url.unicodeScalars.allSatisfy({ (0x21...0x7E).contains($0.value) })
        else {
            throw ProviderError(.corrupt, "rclone's answer is not a link")
        }
        return answer.url
    }

    /// rclone reads the current version, so the version is checked after the last byte: if it is
    /// still the expected one, the bytes belong to it.
    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        guard let size = RcloneMeaning.size(of: etag), range.upperBound <= size else {
            throw ProviderError(.changed, "rclone has no such version")
        }
        let path = try remote.existingPath(of: key)
        let url = PercentCoding.encode("[\(remote.fileSystem)]/\(path)".utf8, keepsSlash: true)
        let collector = RcloneReadSink(range: range, size: size, into: sink)
        do {
            try await remote.client.read(path: url, range: range, into: collector)
        } catch {
            guard ![.sink, .cancelled].contains(error.kind) else { throw error }
            // The current version explains the failure better.
            try await remote.requireVersion(etag, of: key)
            throw error
        }
        try await remote.requireVersion(etag, of: key)
    }

    // MARK: Changes

    func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let path = try remote.newPath(key)
        try await names.requireKept(key)
        return try await locks.with([key]) { () async throws(ProviderError) in
            guard !key.names.isEmpty, try await remote.object(at: key) == nil else {
                throw RcloneRemote.exists
            }
            try await remote.requireParent(of: key)
            if remote.features.keepsEmptyDirectories {
                try await remote.change("operations/mkdir", path)
            } else {
                // Without a file in it, the directory would not exist.
                try await RcloneUpload.makeEmpty(
                    "\(path)/\(RcloneHidden.marker)", on: remote, spool)
            }
            return try await stat(key)
        }
    }

    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        throw ProviderError(.unsupported, "rclone's remotes keep no symbolic links")
    }

    /// Sets the time of a file, if the remote can do that without another upload. The remote control
    /// has no function for it, but runs rclone's command.
    func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        return try await locks.with([key]) { () async throws(ProviderError) in
            guard let etag, let path = remote.path(of: key) else { return try await stat(key) }
            let found = try await remote.requireVersion(etag, of: key)
            guard fields.contains(.modified), let resolution = traits.modifiedResolution,
                !found.modified.isWithin(resolution, of: attributes.modified)
            else { return found }
            let fileSystem = remote.fileSystem
            let target = fileSystem + (fileSystem.hasSuffix(":") || path.isEmpty ? "" : "/") + path
            let input = RcloneInput(
                command: "touch",
                arg: ["--no-create", "--timestamp", attributes.modified.rfc3339, target])
            let result: RcloneCommandResult = try await remote.client.call("core/command", input)
            let now = try await stat(key)
            // Many remotes cannot do this; an unchanged file is not an error.
            if result.error, now.etag != etag {
                throw RcloneFailure.error(reason: result.result ?? "")
            }
            let isTouched = now.modified.isWithin(resolution, of: attributes.modified)
            guard now.etag == etag || isTouched && RcloneMeaning.mayHoldSame(now, found) else {
                throw RcloneRemote.changedMeanwhile
            }
            return now
        }
    }

    func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        guard let path = remote.path(of: key), !path.isEmpty else {
            throw RcloneRemote.missing
        }
        try await locks.with([key]) { () async throws(ProviderError) in
            guard kind == .directory else {
                guard let etag else {
                    throw ProviderError(.missing, "there are no symbolic links")
                }
                try await remote.requireVersion(etag, of: key)
                return try await remote.change("operations/deletefile", path)
            }
            guard try await remote.requireObject(at: key).kind == .directory else {
                throw ProviderError(.wrongKind, "it is a file")
            }
            try await removeEmpty(path)
        }
    }

    /// Removes a directory that contains only hidden files.
    ///
    /// - Throws: `.notEmpty`.
    func removeEmpty(_ path: String) async throws(ProviderError) {
        let items = try await remote.items(in: path)
        guard items.allSatisfy({ RcloneHidden.isHidden($0.name) }) else {
            throw ProviderError(.notEmpty, "the directory is not empty")
        }
        for item in items {
            try await remote.change("operations/deletefile", "\(path)/\(item.name)")
        }
        do {
            try await remote.change("operations/rmdir", path)
        } catch {
            // A directory that is only a part of file names went with the last file.
            guard error.kind == .missing, !remote.features.keepsEmptyDirectories else {
                throw error
            }
        }
    }
}
