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
