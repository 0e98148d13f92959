import Engine

extension RcloneProvider {
    /// rclone reads the current version, so the version is checked after the last byte: if it is
    /// still the expected one, the bytes belong to it.
    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        guard let size = RcloneMeaning.size(of: etag), range.upperBound <= size else {
            throw ProviderError(.changed, "rclone has no such version")
        }
        let path = try remote.existingPath(of: key)
        let url = "[\(remote.fileSystem)]".urlEncoded + "/" + path.urlEncoded
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
}

extension String {
    /// RFC 3986: everything encoded except the unreserved characters and the slash.
    fileprivate var urlEncoded: String {
        let digits = Array("0123456789ABCDEF")
        return utf8.reduce(into: "") { text, byte in
            let character = Character(Unicode.Scalar(byte))
            let isLetter = byte < 0x80 && (character.isLetter || character.isNumber)
            if isLetter || "-._~/".contains(character) {
                text.append(character)
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
