/// Writes bytes again that the previous process may have failed to store.
///
/// The kernel reports once that it could not store written bytes, and takes them for stored afterwards.
/// If the process is killed before it has recorded that, a synchronisation by the next one succeeds
/// although the disk lacks them. So the bytes that did not count as safe at the end of a process are
/// suspect: they are written again, from the kernel's memory, before they are synchronised.
struct SuspectContent: Sendable {
    let store: Store

    /// The maximum number of local bytes of a file that is written again. A larger one, as the image of a
    /// disk that was open for writing, is only synchronised: it would take minutes.
    static var fileBytesMax: UInt64 { 256 << 20 }

    /// The bytes that are written again at once under a file's lock, for which others may wait.
    private static var pieceBytes: UInt64 { 1 << 20 }

    /// Writes a file again if it is suspect, piece by piece.
    ///
    /// - Returns: Whether it was suspect.
    func rewrite(_ file: OpenFile) throws(Blocked) -> Bool {
        guard try isSuspect(file.inode) else { return false }
        var offset: UInt64? = 0
        while let start = offset {
            offset = try file.withState { state throws(Blocked) in
                try rewritePiece(of: file.inode, state, from: start)
            }
        }
        try store.write { try $0.endSuspicion(of: file.inode) }
        return true
    }

    /// Writes a file again if it is suspect, all of it under its lock: before the database records more of
    /// a synchronised file that is only partly here.
    func rewrite(_ inode: InodeNumber, _ state: OpenFile.State) throws(Blocked) {
        guard try isSuspect(inode) else { return }
        var offset: UInt64? = 0
        while let start = offset { offset = try rewritePiece(of: inode, state, from: start) }
        try store.write { try $0.endSuspicion(of: inode) }
    }

    private func isSuspect(_ inode: InodeNumber) throws(Blocked) -> Bool {
        try store.readBriefly { try $0.isSuspect(inode) }
    }

    /// Writes the first local bytes from an offset on again.
    ///
    /// - Returns: The offset after them; nil if there are no more.
    private func rewritePiece(
        of inode: InodeNumber, _ state: OpenFile.State, from offset: UInt64
    ) throws(Blocked) -> UInt64? {
        guard state.bytesHere <= Self.fileBytesMax,
            let range = state.firstPresent(from: offset, maxBytes: Self.pieceBytes)
        else { return nil }
        try onDisk("write the content of inode \(inode) again") { () throws(DiskError) in
            let modified = try state.file.status().modified
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 1)
            defer { bytes.deallocate() }
            let count = try state.file.read(into: bytes, at: range.lowerBound)
            let read = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            // Zeros need no space, if the disk has none for them.
            if read.allSatisfy({ $0 == 0 }), try state.file.isHole(range) { return }
            try state.file.write(read, at: range.lowerBound)
            try state.file.setModified(modified)
        }
        return range.upperBound
    }
}
