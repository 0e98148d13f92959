import Engine

/// Records the writes of two clients of one remote, and checks in the end that none is lost.
///
/// The mount's side (I2): the bytes written to an inode by a local program, up to its last
/// acknowledged operation, are in the end the content of a file on the remote, under the inode's
/// name or that of a conflict. Exceptions: a local program has changed or removed that inode since;
/// the other client has overwritten or deleted just these bytes on the remote; or a local program
/// has done so, in the inode that a listing gave them in the meantime. If the remote lost the
/// version that an inode was partly written over before the rest was fetched, there is no complete
/// content to send: then the inode remains here, with a failure in the status.
///
/// The other client's side (I4): its writes are in the end the content of a file on the remote,
/// unless it overwrote or deleted them itself, or a local program changed, removed or replaced the
/// inode of just that version.
///
/// Both (I3): each version uploaded by the mount was the content of a file at one moment. A change
/// that was not acknowledged, because the process died or the disk failed, may be present in part:
/// any mixture of before and after, byte by byte.
struct LossOracle {
    struct File {
        /// The possible contents: one, unless a reply was lost in a death.
        var contents: [[UInt8]]
        /// Whether a local program changed it.
        var isOwed = false
        /// Whether a local program removed it. Those who have it open may still write.
        var isRemoved = false
        /// Whether it was synchronised, and not changed since.
        var isSynchronised = false
        /// Whether it was synchronised at any time.
        var wasSynchronised = false
        /// The possible contents since the last sync.
        var sinceSynchronised: [[UInt8]] = []
    }

    private(set) var files: [InodeNumber: File] = [:]
    /// Versions whose end a local program asked for.
    private var endings: Set<ETag> = []
    private var moments: Set<ContentMark> = [ContentMark([])]
    /// Contents that a local program changed into others, and the inodes that had them.
    private var overwritten: [ContentMark: Set<InodeNumber>] = [:]
    /// Sets of possible contents of which any mixture may exist.
    private var tears: [[[UInt8]]] = []

    // MARK: Local programs

    /// Records the content of a new inode.
    mutating func meet(_ inode: InodeNumber, _ bytes: [UInt8]) {
        guard files[inode] == nil else { return }
        files[inode] = File(contents: [bytes])
        moments.insert(ContentMark(bytes))
    }

    /// Records a change of a file by a local program.
    ///
    /// - Parameter isCertain: Whether it was acknowledged; if not, it may have happened.
    mutating func change(
        _ inode: InodeNumber, version: ETag?, isCertain: Bool, _ edit: (inout [UInt8]) -> Void
    ) {
        guard var file = files[inode] else { return }
        let former = file.contents
        var after = former
        for index in after.indices { edit(&after[index]) }
        if file.contents.count > 16 { file.isOwed = false }
        file.contents = isCertain ? after : file.contents + after
        if isCertain { file.isOwed = true }
        if file.contents.count > 1 { tears.append(file.contents) }
        file.isSynchronised = false
        if file.wasSynchronised { file.sinceSynchronised += after }
        for bytes in after { moments.insert(ContentMark(bytes)) }
        for (before, after) in zip(former, after) where before != after {
            overwritten[ContentMark(before), default: []].insert(inode)
        }
        files[inode] = file
        if let version { endings.insert(version) }
    }

    /// Records the removal or replacement of a file by a local program, acknowledged or not.
    mutating func remove(_ inode: InodeNumber, version: ETag?) {
        files[inode]?.isRemoved = true
        if let version { endings.insert(version) }
    }

    /// Records an acknowledged sync of a file.
    mutating func synchronize(_ inode: InodeNumber) {
        guard var file = files[inode] else { return }
        file.isSynchronised = true
        file.wasSynchronised = true
        file.sinceSynchronised = file.contents
        files[inode] = file
    }

    /// Records an orderly unmount, after which all local bytes are on the disk.
    mutating func noteOrderlyEnd() {
        for inode in files.keys { files[inode]?.isSynchronised = true }
    }

    /// Records that a power cut may take the bytes of files, although they were synchronised.
    mutating func endanger(_ inodes: Set<InodeNumber>) {
        for inode in inodes { files[inode]?.isSynchronised = false }
    }

    /// Whether a power cut leaves a file's bytes as they are or as on the remote.
    func isDurable(_ inode: InodeNumber) -> Bool {
        guard let file = files[inode] else { return true }
        return file.isSynchronised || !file.isOwed
    }

    /// Checks the contents after a power cut, and starts again from them.
    ///
    /// Files that were synced and neither changed nor removed since must exist (I1), or have
    /// reached the remote, which decides from then on. Files changed after a sync may hold any part
    /// of the changes, as on any file system. All other files hold an earlier content of some file:
    /// closed files may be lost, but are never torn.
    ///
    /// - Parameters:
    ///   - found: The contents of all readable files.
    ///   - incomplete: Existing files whose missing bytes the remote has lost.
    mutating func takeStock(
        _ found: [InodeNumber: [UInt8]], incomplete: Set<InodeNumber>,
        _ everything: [SimulatedContent]
    ) throws(ProgramFailure) {
        let stored = Set(everything.map { ContentMark($0.bytes) })
        var left: [InodeNumber: File] = [:]
        for (inode, file) in files.sorted(by: { $0.key < $1.key })
        where file.isSynchronised && !file.isRemoved && file.isOwed {
            if file.contents.contains(where: { stored.contains(ContentMark($0)) }) { continue }
            if incomplete.contains(inode) { continue }
            guard let bytes = found[inode], file.contents.contains(bytes) else {
                throw ProgramFailure(
                    "I1: inode \(inode) was synchronised with \(file.contents.map(\.count)) bytes, "
                        + "and after the power cut "
                        + (found[inode].map { "holds \($0.count) others" } ?? "is gone"))
            }
        }
        for (inode, bytes) in found.sorted(by: { $0.key < $1.key }) {
            let mark = ContentMark(bytes)
            let old = files[inode]
            // After a sync, any part of later changes may be present.
            let isPart = old.map { Mixture.isMixture(bytes, of: $0.sinceSynchronised) } ?? false
            if !isPart, !moments.contains(mark), !stored.contains(mark) {
                throw ProgramFailure(
                    "I5: after the power cut inode \(inode) holds \(bytes.count) bytes that no "
                        + "file ever held")
            }
            moments.insert(mark)
            var file = File(contents: [bytes])
            file.isOwed = old?.isSynchronised == true && old?.isOwed == true
            file.isSynchronised = old?.isSynchronised == true
            file.wasSynchronised = old?.wasSynchronised == true
            file.sinceSynchronised = [bytes]
            left[inode] = file
        }
        files = left
    }

    /// Checks a file whose name had to survive a power cut: it holds the content of one of the files
    /// that had that name.
    func checkReplaced(
        _ inode: InodeNumber, _ bytes: [UInt8], files owners: Set<InodeNumber>
    ) throws(ProgramFailure) {
        let isOurs = owners.contains { owner in
            // That of a file that no program changed is on the remote.
            guard let file = files[owner] else { return true }
            return file.contents.contains(bytes) || !file.isOwed
                || file.wasSynchronised && Mixture.isMixture(bytes, of: file.sinceSynchronised)
        }
        guard isOurs else {
            throw ProgramFailure(
                "I1: a synchronised name leads to inode \(inode), whose \(bytes.count) bytes are "
                    + "of none of inodes \(owners.sorted()) that had it")
        }
    }

    /// Checks the result of a read.
    ///
    /// - Parameter decides: Whether the bytes rule out other possible contents. They do not while
    /// the disk fails: unacknowledged changes may be visible for a while.
    ///
    /// - Returns: Whether a possible content of the file has these bytes there.
    mutating func read(
        _ inode: InodeNumber, _ bytes: [UInt8], at offset: Int, count: Int, decides: Bool
    ) -> Bool {
        guard var file = files[inode] else { return true }
        let before = file.contents
        file.contents.removeAll { content in
            !content.dropFirst(offset).prefix(count).elementsEqual(bytes)
        }
        if file.contents.isEmpty {
            return Mixture.isMixture(bytes, of: before.map { $0.dropFirst(offset) })
        }
        if decides { files[inode] = file }
        return true
    }

    // MARK: The end

    /// - Parameters:
    ///   - incomplete: Inodes that cannot be uploaded because the remote lost their missing bytes.
    ///   - hadStaleListings: Whether a name may have been hidden from local programs. Such a
    ///     program may create an equal file there, whose upload finds itself done if its answer is
    ///     lost, and then change it.
    /// - Throws: ``ProgramFailure`` naming the violated invariant.
    func check(
        incomplete: Set<InodeNumber>, hadStaleListings: Bool,
        _ snapshot: [ObjectKey: SimulatedSnapshotEntry], _ everything: [SimulatedContent]
    ) throws(ProgramFailure) {
        var left: Set<ContentMark> = []
        for case .file(let bytes) in snapshot.values { left.insert(ContentMark(bytes)) }
        /// Contents of the other client. A file that was fetched here, such as a pinned one, has them too,
        /// and may be created again with them.
        let theirs = Set(
            everything.filter { $0.author != .mount }.map { ContentMark($0.bytes) })
        /// Contents that a client meant to overwrite or delete.
        var ended: Set<ContentMark> = []
        for content in everything {
            let mark = ContentMark(content.bytes)
            if content.author == .mount, !moments.contains(mark), !theirs.contains(mark),
                !tears.contains(where: { Mixture.isWholeMixture(content.bytes, of: $0) })
            {
                throw ProgramFailure(
                    "I3: \(content.bytes.count) bytes came to the remote as \(content.key) that no "
                        + "file ever had, as \(content.etags)")
            }
            if isEndWanted(content) { ended.insert(mark) }
        }
        for content in everything where content.author == .other && content.endedBy == .mount {
            let mark = ContentMark(content.bytes)
            guard left.contains(mark) || ended.contains(mark) else {
                throw ProgramFailure(
                    "I4: \(content.bytes.count) bytes that the other client wrote to "
                        + "\(content.key), as \(content.etags), are lost")
            }
        }
        for (inode, file) in files.sorted(by: { $0.key < $1.key })
        where file.isOwed && !file.isRemoved && !incomplete.contains(inode) {
            let marks = file.contents.map { ContentMark($0) }
            if marks.contains(where: { left.contains($0) || ended.contains($0) }) { continue }
            let others = marks.flatMap { overwritten[$0] ?? [] }
            if hadStaleListings, others.contains(where: { $0 != inode }) { continue }
            let isThereInPart = everything.contains { content in
                let mark = ContentMark(content.bytes)
                return (left.contains(mark) || ended.contains(mark))
                    && Mixture.isWholeMixture(content.bytes, of: file.contents)
            }
            if isThereInPart { continue }
            throw ProgramFailure(
                "I2: \(file.contents.map(\.count)) bytes that a program wrote to inode \(inode) "
                    + "are lost")
        }
    }

    private func isEndWanted(_ content: SimulatedContent) -> Bool {
        guard let client = content.endedBy else { return false }
        return client == .other || content.etags.contains(where: endings.contains)
    }
}
