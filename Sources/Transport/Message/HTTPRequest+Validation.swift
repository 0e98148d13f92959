extension HTTPRequest {
    /// The reason why it is invalid; nil if it is valid.
    func fault(_ parts: URLParts?) -> String? {
        guard let parts else { return "the URL is malformed" }
        if !parts.isHTTP { return "the URL is neither http nor https" }
        if parts.hasUser { return "the URL contains credentials" }
        let names = [method.rawValue] + headers.map(\.name)
        if !names.allSatisfy(\.isToken) { return "a name contains a character that HTTP forbids" }
        let ends = Set("\r\n\0".utf8)
        if headers.contains(where: { $0.value.utf8.contains(where: ends.contains) }) {
            return "a header contains a line end"
        }
        if case .source(let source, let range) = body, range.upperBound > source.size {
            return "the body is longer than its source"
        }
        return nil
    }
}

extension String {
    /// RFC 9110: token.
    fileprivate var isToken: Bool {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        return !isEmpty
            && utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || marks.contains(byte)
            }
    }
}
