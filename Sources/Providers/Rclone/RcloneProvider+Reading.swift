import Engine

extension RcloneProvider {
    /// rclone reads whatever is there now, so the version is looked at after the last byte: if that
    /// is still the one asked for, so were the bytes.
    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let attempt = "read \(range.count) bytes at \(range.lowerBound) of \"\(key)\""
        guard let size = Self.size(of: etag), range.upperBound <= size else {
            throw ProviderError(.changed, attempt: attempt, reason: "the version is not of here")
        }
        guard let path = path(of: key) else {
            throw ProviderError(.missing, attempt: attempt, reason: "it cannot be there")
        }
        let url = "[\(fileSystem)]".urlEncoded + "/" + path.urlEncoded
        let collector = RcloneReadSink(attempt, range: range, size: size, into: sink)
        do {
            try await client.read(path: url, range: range, into: collector, attempt: attempt)
        } catch {
            guard ![.sink, .cancelled].contains(error.kind) else { throw error }
            // Why it failed is better told by what is there now.
            try await requireVersion(etag, of: key, attempt)
            throw error
        }
        try await requireVersion(etag, of: key, attempt)
    }

    /// - Throws: `.missing`, `.wrongKind`, `.changed`.
    @discardableResult
    func requireVersion(
        _ etag: ETag, of key: ObjectKey, _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        guard let found = try await look(at: key, attempt) else {
            throw ProviderError(.missing, attempt: attempt, reason: "nothing is there")
        }
        guard found.kind == .file else {
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
        }
        guard found.etag == etag else {
            throw ProviderError(.changed, attempt: attempt, reason: "it is another version")
        }
        return found
    }
}

extension String {
    /// RFC 3986: everything encoded but the unreserved characters and the slash.
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
