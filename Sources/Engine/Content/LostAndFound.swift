/// Keeps bytes without a place in `lost+found/`.
struct LostAndFound: Sendable {
    let disk: any Disk
}

extension LostAndFound {
    /// A name as part of a path on the disk, 200 bytes at the most.
    static func shown(_ name: FileName) -> String {
        var shown = String(decoding: name.bytes.prefix(150), as: UTF8.self)
        while shown.utf8.count > 200 { shown.removeLast() }
        return String(shown.map { $0 == "/" || $0 == "\0" ? "_" : $0 })
    }

    /// In the state directory.
    static var folder: DiskPath { StateFiles.lostFolder }

    /// Moves a file to `lost+found/`; an empty one is removed.
    ///
    /// - Parameters:
    ///   - inode: Whose content it is, where that is known.
    ///   - name: What that was called.
    /// - Returns: Whether it was moved.
    @discardableResult
    func keep(
        _ path: DiskPath, of inode: InodeNumber?, name: FileName? = nil
    ) throws(Halt) -> Bool {
        try onDisk("keep \(path)") { () throws(DiskError) in
            guard try disk.open(path).status().size > 0 else {
                try disk.remove(path)
                return false
            }
            let fallback = inode == nil ? Self.shown(path.description) : nil
            let name = name.map(Self.shown) ?? fallback
            let taken = Set(try disk.files(below: Self.folder).map(\.description))
            // Inode numbers come again after a power cut.
            try disk.move(path, to: StateFiles.lostPlace(inode, name, taken: taken))
            return true
        }
    }

    /// How many files lie in `lost+found/`, where this mount or a check has put them.
    func count() throws(EngineError) -> Int {
        do throws(DiskError) {
            return try disk.files(below: Self.folder).count
        } catch {
            throw EngineError(error, "look into \(Self.folder)")
        }
    }
}

extension LostAndFound {
    static func shown(_ path: String) -> String {
        String(path.map { $0 == "/" || $0 == "\0" || $0.isNewline ? "_" : $0 }.suffix(60))
    }

    /// Returns a path in `lost+found/` that is not taken.
    static func place(_ inode: InodeNumber?, _ name: String?, taken: Set<String>) -> DiskPath {
        var attempt = 1
        while true {
            let words = [inode?.description, attempt > 1 ? "\(attempt)" : nil, name]
            let place = "\(folder)/" + words.compactMap(\.self).joined(separator: "-")
            if !taken.contains(place) { return DiskPath(place) }
            attempt += 1
        }
    }
}
