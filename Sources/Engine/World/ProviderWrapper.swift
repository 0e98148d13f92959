/// A provider that adds something to each call of another one: a deadline, an observer, a fault.
package protocol ProviderWrapper: Provider {
    var inner: any Provider { get }

    /// Makes one call of ``inner``.
    ///
    /// - Parameter request: The call, which may be repeated.
    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value
}

extension ProviderWrapper {
    package var traits: ProviderTraits { inner.traits }

    /// Each page of the listing is a call, unless it is on this machine already.
    package func entries(of directory: ObjectKey) -> ListingCursor {
        let cursor = inner.entries(of: directory)
        return ListingCursor((isFirst: true, isLocal: false)) {
            place async throws(ProviderError) in
            let page =
                if place.isLocal {
                    try await cursor.next()
                } else {
                    try await around(.list(directory, isFirst: place.isFirst)) {
                        () async throws(ProviderError) in try await cursor.next()
                    }
                }
            place = (false, page.isNextLocal)
            return page
        }
    }

    package func probe() async throws(ProviderError) {
        try await around(.probe) { () async throws(ProviderError) in try await inner.probe() }
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try await around(.stat(key)) { () async throws(ProviderError) in
            try await inner.stat(key)
        }
    }

    package var givesFirstBytes: Bool { inner.givesFirstBytes }

    package func stat(
        _ key: ObjectKey, firstBytes count: Int
    ) async throws(ProviderError) -> ObjectStart {
        try await around(.stat(key)) { () async throws(ProviderError) in
            try await inner.stat(key, firstBytes: count)
        }
    }

    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try await around(.read(key)) { () async throws(ProviderError) in
            try await inner.read(key, range: range, etag: etag, into: sink)
        }
    }

    package func checksum(
        of key: ObjectKey, etag: ETag
    ) async throws(ProviderError) -> (any ContentChecksum)? {
        try await around(.stat(key)) { () async throws(ProviderError) in
            try await inner.checksum(of: key, etag: etag)
        }
    }

    package var preparesForChanges: Bool { inner.preparesForChanges }

    package func prepareForChanges() async throws(ProviderError) {
        try await around(.prepare) { () async throws(ProviderError) in
            try await inner.prepareForChanges()
        }
    }

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try await around(.write(key)) { () async throws(ProviderError) in
            try await inner.write(
                key, from: source, attributes: attributes, base: base, session: session)
        }
    }

    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        try await around(.abandon(key)) { () async throws(ProviderError) in
            try await inner.abandon(token, of: key)
        }
    }

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await around(.createDirectory(key)) { () async throws(ProviderError) in
            try await inner.createDirectory(key, attributes: attributes)
        }
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await around(.createSymlink(key)) { () async throws(ProviderError) in
            try await inner.createSymlink(key, target: target, attributes: attributes)
        }
    }

    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        try await around(.setAttributes(key)) { () async throws(ProviderError) in
            try await inner.setAttributes(
                key, to: attributes, only: fields, etag: etag, nonce: nonce)
        }
    }

    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        try await around(.move(key, to: destination, isFile: etag != nil)) {
            () async throws(ProviderError) in
            try await inner.move(
                key, etag: etag, to: destination, base: base, continues: continues, nonce: nonce,
                noteCopies: noteCopies)
        }
    }

    package func delete(
        _ key: ObjectKey, kind: FileKind, etag: ETag?
    ) async throws(ProviderError) {
        try await around(.delete(key)) { () async throws(ProviderError) in
            try await inner.delete(key, kind: kind, etag: etag)
        }
    }

    package func isSame(_ former: ETag, as etag: ETag) -> Bool { inner.isSame(former, as: etag) }

    package func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool {
        inner.hasSameBytes(former, as: etag)
    }

    package func space() async throws(ProviderError) -> StorageSpace? {
        try await around(.space) { () async throws(ProviderError) in try await inner.space() }
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        try await around(.publicLink(key)) { () async throws(ProviderError) in
            try await inner.publicLink(to: key)
        }
    }

    package func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool {
        try await around(.follow(directory)) { () async throws(ProviderError) in
            try await inner.follow(directory)
        }
    }

    package func unfollow(_ directory: ObjectKey) { inner.unfollow(directory) }

    package func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        try await around(.changes) { () async throws(ProviderError) in
            try await inner.changes(since: anchor)
        }
    }
}
