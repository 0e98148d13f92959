/// Keeps bytes without a place in `lost+found/`.
struct LostAndFound: Sendable {
    let disk: any Disk

    /// Returns a name as part of a path on the disk, at most 200 bytes.
    static func shown(_ name: FileName) -> String {
        var shown = String(decoding: name.bytes.prefix(150), as: UTF8.self)
        while shown.utf8.count > 200 { shown.removeLast() }
        return String(shown.map { $0 == "/" || $0 == "\0" ? "_" : $0 })
    }

    /// Moves a file to `lost+found/`; an empty one is removed.
    ///
    /// - Parameters:
    ///   - inode: The inode of the content, if known.
    ///   - name: The former name, if known.
    /// - Returns: Whether it was moved.
    @discardableResult
    func keep(
        _ path: DiskPath, of inode: InodeNumber?, name: FileName? = nil
    ) throws(Blocked) -> Bool {
        try onDisk("move \(path) to \(StateFiles.lostFolder)") { () throws(DiskError) in
            guard try disk.open(path).status().size > 0 else {
                try disk.remove(path)
                return false
            }
            let fallback = inode == nil ? StateFiles.shown(path.description) : nil
            let name = name.map { Self.shown($0) } ?? fallback
            // Inode numbers may be reused after a power cut.
            let place = try StateFiles.lostPlace(inode, name) { (place) throws(DiskError) in
                try disk.status(of: place) != nil
            }
            try disk.move(path, to: place)
            return true
        }
    }

    func count() throws(EngineError) -> Int {
        do throws(DiskError) {
            return try disk.files(below: StateFiles.lostFolder).count
        } catch {
            throw EngineError(error, "list \(StateFiles.lostFolder)")
        }
    }
}
