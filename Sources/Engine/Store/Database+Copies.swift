import GRDB

// Rows of `copies`: versions that a store gives to the files of a directory that it moves by copying them.

extension Store {
    /// Returns a function that stores the versions of files copied from a directory.
    func noteCopies(in directory: InodeNumber) -> CopyNote {
        { files throws(ProviderError) in
            try engineWork { () throws(Blocked) in
                try self.write { try $0.noteCopies(files, in: directory) }
            }
        }
    }
}

extension Database {
    /// Stores the versions that files of a directory will have once its move is complete. A file that was
    /// copied before, by a move that was interrupted, may be copied again.
    fileprivate func noteCopies(_ files: [CopiedFile], in directory: InodeNumber) throws {
        for file in files {
            var inode: InodeNumber? = directory
            for name in file.path {
                inode = try inode.flatMap { try syncedInode(name, in: $0) }
            }
            guard let inode else { continue }
            try run(
                """
                INSERT INTO copies (inode, directory, former, etag)
                SELECT inode, :directory, etag, :etag FROM synced
                WHERE inode = :inode AND (etag = :former OR EXISTS (
                    SELECT 1 FROM copies WHERE copies.inode = synced.inode
                        AND copies.former = synced.etag AND copies.etag = :former))
                ON CONFLICT (inode) DO UPDATE SET
                    directory = excluded.directory, former = excluded.former, etag = excluded.etag
                """,
                [
                    "inode": inode, "directory": directory, "former": file.former,
                    "etag": file.etag,
                ])
        }
    }

    /// Stores the versions that the files of a directory have since its move is complete.
    func adoptCopies(in directory: InodeNumber) throws {
        guard try hasRow("copies WHERE directory = ?", [directory]) else { return }
        try run(
            """
            UPDATE synced SET etag = copies.etag FROM copies
            WHERE copies.inode = synced.inode AND directory = ? AND synced.etag = former
            """, [directory])
        try removeCopies(in: directory)
    }

    /// Forgets the copies of a move that was given up.
    func removeCopies(in directory: InodeNumber) throws {
        try run("DELETE FROM copies WHERE directory = ?", [directory])
    }
}
