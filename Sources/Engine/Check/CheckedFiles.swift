/// The files of the state directory during a check. A dry run changes none.
final class CheckedFiles {
    private let disk: any Disk
    private let isDryRun: Bool
    /// Paths in use in `lost+found/`.
    private var lostPaths: Set<String> = []

    init(_ disk: any Disk, isDryRun: Bool) throws(Blocked) {
        self.disk = disk
        self.isDryRun = isDryRun
        lostPaths = Set(try list(StateFiles.lostFolder).map(\.description))
    }

    func list(_ folder: DiskPath) throws(Blocked) -> [DiskPath] {
        try onDisk { () throws(DiskError) in try disk.files(below: folder) }
    }

    func open(_ path: DiskPath) throws(Blocked) -> any DiskFile {
        try onDisk { () throws(DiskError) in try disk.open(path) }
    }

    func size(of path: DiskPath) throws(Blocked) -> UInt64 {
        try onDisk { () throws(DiskError) in try disk.open(path).status().size }
    }

    func remove(_ path: DiskPath) throws(Blocked) {
        if !isDryRun { try onDisk { () throws(DiskError) in try disk.remove(path) } }
    }

    // MARK: lost+found

    /// Moves a file to `lost+found/`, under a name made of its old path.
    ///
    /// - Returns: Its new path.
    func moveToLost(_ path: DiskPath, inode: InodeNumber?, was old: String?) throws(Blocked)
        -> DiskPath
    {
        let place = lostPlace(inode, old ?? path.description)
        if !isDryRun { try onDisk { () throws(DiskError) in try disk.move(path, to: place) } }
        return place
    }

    /// Copies a file to `lost+found/`, as ``moveToLost(_:inode:was:)`` moves it.
    func copyToLost(_ path: DiskPath, inode: InodeNumber, was old: String?) throws(Blocked)
        -> DiskPath
    {
        let place = lostPlace(inode, old ?? path.description)
        if !isDryRun {
            try onDisk { () throws(DiskError) in _ = try disk.clone(disk.open(path), to: place) }
        }
        return place
    }

    /// Writes bytes to a new file in `lost+found/`.
    func writeToLost(_ bytes: [UInt8], inode: InodeNumber, was old: String) throws(Blocked)
        -> DiskPath
    {
        let place = lostPlace(inode, old)
        guard !isDryRun else { return place }
        let file = try open(place)
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(DiskError) in try file.write(buffer, at: 0) }
        }
        try onDisk { () throws(DiskError) in try result.get() }
        return place
    }

    private func lostPlace(_ inode: InodeNumber?, _ old: String) -> DiskPath {
        let place = StateFiles.lostPlace(inode, StateFiles.shown(old), taken: lostPaths)
        lostPaths.insert(place.description)
        return place
    }

    private func onDisk<Value>(_ body: () throws(DiskError) -> Value) throws(Blocked) -> Value {
        do throws(DiskError) {
            return try body()
        } catch {
            throw .failure(EngineError(error, "check the state directory"))
        }
    }
}
