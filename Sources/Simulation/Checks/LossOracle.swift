import Engine

/// What two clients of one remote wrote, and what of it has to be somewhere in the end.
///
/// The rule, of the mount's side (I2): what a local program wrote into an inode, up to the last
/// acknowledged operation, is in the end the content of some file on the remote, under its name or
/// that of a conflict, unless a local program has since changed or removed that inode, or the other
/// client has overwritten or deleted, on the remote, just these bytes; or a local program, in the
/// inode that the remote's listing gave them meanwhile. Where the remote lost the
/// version that a part of it was written over before the rest was here, there is nothing whole to
/// send: then the inode is still here, and says so.
///
/// Of the other client's side (I4): what it wrote is in the end the content of some file on the
/// remote, unless it overwrote or deleted that itself, or a local program changed, removed or
/// replaced the inode that stood for that very version.
///
/// And for both (I3): what the mount wrote to the remote was the content of a file at one moment.
/// A change that was not acknowledged, as the process died or the disk failed over it, may be there
/// in part: any mixture of before and after, byte by byte.
struct LossOracle {
    struct File {
        /// What it may hold: one content, but where an answer got lost in a death.
        var contents: [[UInt8]]
        /// Whether a local program changed it.
        var isOwed = false
        /// Whether a local program removed it. Those who have it open may still write.
        var isRemoved = false
        /// Whether it was synchronised, and not changed since.
        var isSynchronised = false
        /// Whether it was synchronised at any time.
        var wasSynchronised = false
        /// What it may have held since it was synchronised last.
        var sinceSynchronised: [[UInt8]] = []
    }

    private(set) var files: [InodeNumber: File] = [:]
    /// Versions whose end a local program asked for.
    private var endings: Set<ETag> = []
    private var moments: Set<ContentMark> = [ContentMark([])]
    /// What files may have held of which a mixture is possible.
    private var tears: [[[UInt8]]] = []

    // MARK: What local programs do

    /// Takes note of an inode at its first sight.
    mutating func meet(_ inode: InodeNumber, _ bytes: [UInt8]) {
        guard files[inode] == nil else { return }
        files[inode] = File(contents: [bytes])
        moments.insert(ContentMark(bytes))
    }

    /// A program changes a file.
    ///
    /// - Parameter isCertain: Whether it was acknowledged; else it has happened or not.
    mutating func change(
        _ inode: InodeNumber, version: ETag?, isCertain: Bool, _ edit: (inout [UInt8]) -> Void
    ) {
        guard var file = files[inode] else { return }
        var after = file.contents
        for index in after.indices { edit(&after[index]) }
        if file.contents.count > 16 { file.isOwed = false }
        file.contents = isCertain ? after : file.contents + after
        if isCertain { file.isOwed = true }
        if file.contents.count > 1 { tears.append(file.contents) }
        file.isSynchronised = false
        if file.wasSynchronised { file.sinceSynchronised += after }
        for bytes in after { moments.insert(ContentMark(bytes)) }
        files[inode] = file
        if let version { endings.insert(version) }
    }

    /// A program removes a file, or replaces it; or perhaps it does.
    mutating func remove(_ inode: InodeNumber, version: ETag?) {
        files[inode]?.isRemoved = true
        if let version { endings.insert(version) }
    }

    /// A program has had a file synchronised.
    mutating func synchronize(_ inode: InodeNumber) {
        guard var file = files[inode] else { return }
        file.isSynchronised = true
        file.wasSynchronised = true
        file.sinceSynchronised = file.contents
        files[inode] = file
    }

    /// The mount ended in order: whatever was here by then is on the disk.
    mutating func noteOrderlyEnd() {
        for inode in files.keys { files[inode]?.isSynchronised = true }
    }

    /// Whether a power cut leaves a file's bytes as they are, or as the remote has them.
    func isDurable(_ inode: InodeNumber) -> Bool {
        guard let file = files[inode] else { return true }
        return file.isSynchronised || !file.isOwed
    }

    /// After a power cut: begins anew with what is there.
    ///
    /// What was synchronised and neither changed nor removed since must be there (I1), or have come
    /// to the remote, which decides from then on. What was
    /// changed after it was synchronised may hold any part of the changes, as on any file system.
    /// All other files hold something that a file once held: what was closed may be lost, but is
    /// never torn.
    ///
    /// - Parameters:
    ///   - found: What all files hold that can be read.
    ///   - incomplete: Files that are there, and of which the remote has lost the rest.
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
            // Of what was synchronised, and changed since, any part of the changes may be there.
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

    /// A program reads.
    ///
    /// - Parameter decides: Whether what is seen once stays so. Not where the disk fails: what it
    ///   did not acknowledge may be seen for a while.
    /// - Returns: Whether any content that the file may have has these bytes there.
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

    private func isTear(_ bytes: [UInt8]) -> Bool {
        tears.contains { Mixture.isWholeMixture(bytes, of: $0) }
    }

    // MARK: The end

    /// - Parameter incomplete: The inodes that cannot be sent, as the remote lost the rest of them.
    /// - Throws: ``ProgramFailure`` naming the invariant that does not hold.
    func check(
        incomplete: Set<InodeNumber>,
        _ snapshot: [ObjectKey: SimulatedSnapshotEntry], _ everything: [SimulatedContent]
    ) throws(ProgramFailure) {
        var left: Set<ContentMark> = []
        for case .file(let bytes) in snapshot.values { left.insert(ContentMark(bytes)) }
        /// Contents that somebody wanted to end.
        var ended: Set<ContentMark> = []
        for content in everything {
            let mark = ContentMark(content.bytes)
            if content.author == .mount, !moments.contains(mark), !isTear(content.bytes) {
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
