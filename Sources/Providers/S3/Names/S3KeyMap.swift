import Engine

/// Maps paths of names to keys of the bucket.
struct S3KeyMap: Sendable {
    /// The start of all keys of the mount: empty, or ending in `/`.
    let prefix: S3Key

    /// The keys that belong to one path.
    struct Place: Hashable, Sendable {
        /// The key of a file of this name, not empty; nil if the name can only be a directory's.
        let file: S3Key?
        /// Whether ``file`` is the marker of its own directory, and thus a file only if it has bytes.
        let isMarkerBytes: Bool
        /// The start of all keys below a directory of this name.
        let directory: S3Key
        /// Whether the directory is only the first piece of parts that are too long for one name, so
        /// that it has no `/` of its own and nothing can be created in it.
        let isBeginning: Bool
        /// The incomplete last part of the keys below, if any.
        let open: [UInt8]

        /// The object that stands for the directory.
        var marker: S3Key { directory }
        /// The object that Hadoop's tools write instead.
        var folderMarker: S3Key {
            S3Key(directory.bytes.dropLast() + Array(S3KeyMap.folderSuffix))
        }
    }

    static let folderSuffix = "_$folder$".utf8

    /// - Returns: The place; nil for the root.
    func place(of key: ObjectKey) -> Place {
        var directory = prefix.bytes
        var open: [UInt8] = []
        var file: S3Key?
        var isBeginning = false
        var isMarkerBytes = false
        for name in key.names {
            let found = S3Name(name)
            directory += found.part
            // No object has the empty key; a request for it would ask for the bucket.
            file = found.form == .whole && !directory.isEmpty ? S3Key(directory) : nil
            isMarkerBytes = file != nil && found.part.isEmpty
            isBeginning = found.form == .beginning
            if isBeginning {
                open += found.part
            } else {
                open = []
                directory.append(S3Key.slash)
            }
        }
        return Place(
            file: file, isMarkerBytes: isMarkerBytes, directory: S3Key(directory),
            isBeginning: isBeginning, open: open)
    }
}

/// The key of an object in the bucket, as bytes, including the mount's prefix.
///
/// S3 has no directories: a key is one string, and `/` in it is only a convention.
struct S3Key: Hashable, Sendable {
    let bytes: [UInt8]

    /// The longest key that a store accepts.
    static let bytesMax = 1_024
    static let slash = UInt8(ascii: "/")

    /// Whether it is the key of an object that stands for a directory.
    var isMarker: Bool { bytes.last == Self.slash }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(_ text: String) {
        self.init(Array(text.utf8))
    }

    func appending(_ more: some Sequence<UInt8>) -> S3Key { S3Key(bytes + more) }

    /// Describes a part of it that no path of a file system may contain.
    var oddPart: String? {
        if bytes.contains(0) { return "a NUL" }
        let parts = bytes.split(separator: Self.slash)
        let dots = parts.first { $0.count <= 2 && $0.allSatisfy { $0 == UInt8(ascii: ".") } }
        return dots.map { "the part \"\(String(decoding: $0, as: UTF8.self))\"" }
    }

    var isText: Bool { String(validating: bytes, as: UTF8.self) != nil }
}

extension S3Key: CustomStringConvertible {
    var description: String { String(decoding: bytes, as: UTF8.self) }
}
