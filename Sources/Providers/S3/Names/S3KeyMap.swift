import Engine

/// Where a path of names is in the bucket.
struct S3KeyMap: Sendable {
    /// What all keys of the mount begin with: empty, or ending in `/`.
    let prefix: S3Key

    /// Where one object may be.
    struct Place: Hashable, Sendable {
        /// The key that a file of this name has, not empty; nil where the name can only be a
        /// directory's.
        let file: S3Key?
        /// Whether ``file`` is the marker of the directory that it lies in, and thus a file only
        /// where that has bytes.
        let isMarkerBytes: Bool
        /// What the keys below a directory of this name begin with.
        let directory: S3Key
        /// Whether the directory is only the beginning of parts that are too long for one name, so
        /// that it has no `/` of its own and nothing can be made in it.
        let isBeginning: Bool
        /// The last part so far of the keys below, if it is not complete.
        let open: [UInt8]

        /// The object that stands for the directory.
        var marker: S3Key { directory }
        /// The object that Hadoop's tools wrote for it.
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
            // Nothing has the empty key, and asking for it asks for the bucket.
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
