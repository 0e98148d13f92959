import Engine

/// Decides which keys a file may be written to.
struct S3KeyRules: Sendable {
    let keys: S3KeyMap
    let probe: S3ConditionProbe

    /// Returns the key of a file to be written.
    ///
    /// - Parameter base: A file that already exists may be in a place where none can be created.
    /// - Throws: `.unsupported` if no store, or not this one, would keep the name.
    func fileKey(
        _ key: ObjectKey, base: BaseVersion = .absent
    ) async throws(ProviderError) -> S3Key {
        let place = keys.place(of: key)
        guard let file = place.file else {
            throw S3Failure.unsupported(
                "names that end like this stand for directories that other programs have made",
                remedy: S3Failure.renaming)
        }
        guard !place.isMarkerBytes else { throw S3Failure.markerBytes }
        guard key.names.last.map({ !S3Probe.isProbe($0.bytes) }) ?? true else {
            throw S3Failure.unsupported(
                "such names are reserved for testing the store", remedy: S3Failure.renaming
            )
        }
        try Self.checkText(file)
        try await checkBackslash(file)
        let parent = key.parent.map(keys.place) ?? place
        guard base != .absent || !parent.isBeginning else {
            throw S3Failure.unsupported(
                "nothing can be created in the first part of a long key",
                remedy: "move it to another directory")
        }
        return file
    }

    /// - Throws: `.unsupported`.
    static func checkText(_ key: S3Key) throws(ProviderError) {
        guard key.isText else {
            throw S3Failure.unsupported("S3 keeps names in UTF-8 only", remedy: S3Failure.renaming)
        }
    }

    private func checkBackslash(_ key: S3Key) async throws(ProviderError) {
        guard key.bytes.contains(UInt8(ascii: "\\")) else { return }
        guard try await probe.conditions().keepsBackslash else {
            throw S3Failure.unsupported(
                "this store keeps no name with \"\\\"", remedy: S3Failure.renaming)
        }
    }
}
