// Bytes without a place: moved out of the way, and never deleted by us.

extension Engine {
    /// In the state directory.
    package static var lostFolder: DiskPath { CheckRun.lostFolder }

    /// Moves a content file to `lost+found/`, unless it is empty.
    ///
    /// - Parameter name: What the file was called, where that is known.
    /// - Returns: Whether it was moved.
    @discardableResult
    func keepInLostAndFound(
        _ path: DiskPath, of inode: InodeNumber, name: FileName? = nil
    ) throws(Halt) -> Bool {
        try onDisk("keep the content of inode \(inode)") { () throws(DiskError) in
            guard try disk.open(path).status().size > 0 else { return false }
            try disk.move(path, to: try lostPlace(inode, name))
            return true
        }
    }

    /// How many files lie in `lost+found/`, where this mount or a check has put them.
    package func lostAndFoundCount() throws(EngineError) -> Int {
        do throws(DiskError) {
            return try disk.files(below: Self.lostFolder).count
        } catch {
            throw EngineError(error, "look into \(Self.lostFolder)")
        }
    }

    /// A free path in `lost+found/` that tells what is known of the bytes. Inode numbers come again
    /// after a power cut.
    private func lostPlace(_ inode: InodeNumber, _ name: FileName?) throws(DiskError) -> DiskPath {
        let taken = Set(try disk.files(below: Self.lostFolder).map(\.description))
        return CheckRun.lostPlace(inode, name.map(Self.shown), taken: taken)
    }
}
