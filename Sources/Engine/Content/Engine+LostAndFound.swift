// Bytes without a place: moved out of the way, and never deleted by us.

extension Engine {
    /// Moves a file to `lost+found/`; an empty one is removed.
    ///
    /// - Parameters:
    ///   - inode: Whose content it is, where that is known.
    ///   - name: What that was called.
    /// - Returns: Whether it was moved.
    @discardableResult
    func keepInLostAndFound(
        _ path: DiskPath, of inode: InodeNumber?, name: FileName? = nil
    ) throws(Halt) -> Bool {
        try onDisk("keep \(path)") { () throws(DiskError) in
            guard try disk.open(path).status().size > 0 else {
                try disk.remove(path)
                return false
            }
            let fallback = inode == nil ? StateFiles.shown(path.description) : nil
            let name = name.map(Self.shown) ?? fallback
            let taken = Set(try disk.files(below: StateFiles.lostFolder).map(\.description))
            // Inode numbers come again after a power cut.
            try disk.move(path, to: StateFiles.lostPlace(inode, name, taken: taken))
            return true
        }
    }

    /// How many files lie in `lost+found/`, where this mount or a check has put them.
    package func lostAndFoundCount() throws(EngineError) -> Int {
        do throws(DiskError) {
            return try disk.files(below: StateFiles.lostFolder).count
        } catch {
            throw EngineError(error, "look into \(StateFiles.lostFolder)")
        }
    }
}
