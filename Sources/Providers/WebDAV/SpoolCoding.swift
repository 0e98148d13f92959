import Engine

/// Encodes entries: the fixed fields, then the variable ones, each after its length. They are read by
/// the same process, so the byte order is its own and there is no version.
enum SpoolWriter {
    static func append(_ listed: WebDAVListed, to bytes: inout [UInt8]) {
        let object = listed.object
        var flags: UInt8 = listed.isStable ? 1 : 0
        switch object.kind {
        case .file: flags |= 0
        case .directory: flags |= 2
        case .symlink: flags |= 4
        }
        if object.etag != nil { flags |= 8 }
        if object.mode != nil { flags |= 16 }
        if object.extendedAttributes != nil { flags |= 32 }
        bytes.append(flags)
        append(object.size, to: &bytes)
        append(object.modified.nanoseconds, to: &bytes)
        append(object.mode ?? 0, to: &bytes)
        append(object.name.bytes, to: &bytes)
        append(Array((object.etag?.description ?? "").utf8), to: &bytes)
        append(object.target ?? [], to: &bytes)
        append(object.extendedAttributes?.encoded ?? [], to: &bytes)
    }

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value) { bytes += $0 }
    }

    private static func append(_ value: [UInt8], to bytes: inout [UInt8]) {
        append(UInt32(value.count), to: &bytes)
        bytes += value
    }
}

/// Decodes entries.
struct SpoolReader {
    var bytes: ArraySlice<UInt8>

    mutating func next() -> WebDAVListed? {
        guard let flags = bytes.popFirst(), let size = integer(UInt64.self),
            let modified = integer(Int64.self), let mode = integer(UInt16.self),
            let name = field().flatMap({ FileName($0) }), let etag = field(), let target = field(),
            let attributes = field()
        else { return nil }
        let kind: FileKind = flags & 2 != 0 ? .directory : flags & 4 != 0 ? .symlink : .file
        let object = RemoteObject(
            name: name, kind: kind,
            etag: flags & 8 != 0 ? ETag(String(decoding: etag, as: UTF8.self)) : nil, size: size,
            modified: Timestamp(nanoseconds: modified), mode: flags & 16 != 0 ? mode : nil,
            target: kind == .symlink ? target : nil,
            extendedAttributes: flags & 32 != 0 ? ExtendedAttributes(encoded: attributes) : nil)
        return WebDAVListed(object: object, isStable: flags & 1 != 0)
    }

    private mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let count = MemoryLayout<Value>.size
        guard bytes.count >= count else { return nil }
        let value = bytes.prefix(count).withUnsafeBytes { $0.loadUnaligned(as: Value.self) }
        bytes = bytes.dropFirst(count)
        return value
    }

    private mutating func field() -> [UInt8]? {
        guard let count = integer(UInt32.self), bytes.count >= Int(count) else { return nil }
        defer { bytes = bytes.dropFirst(Int(count)) }
        return Array(bytes.prefix(Int(count)))
    }
}
