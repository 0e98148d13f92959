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
        try onDisk(Self.attempt) { () throws(DiskError) in try disk.files(below: folder) }
    }

    func open(_ path: DiskPath) throws(Blocked) -> any DiskFile {
        try onDisk(Self.attempt) { () throws(DiskError) in try disk.open(path) }
    }

    func size(of path: DiskPath) throws(Blocked) -> UInt64 {
        try onDisk(Self.attempt) { () throws(DiskError) in try disk.open(path).status().size }
    }

    func remove(_ path: DiskPath) throws(Blocked) {
        if !isDryRun { try onDisk(Self.attempt) { () throws(DiskError) in try disk.remove(path) } }
    }

    // MARK: lost+found

    /// Moves a file to `lost+found/`, under a name made of its old path.
    ///
    /// - Returns: Its new path.
    func moveToLost(
        _ path: DiskPath, inode: InodeNumber? = nil, was old: String? = nil
    ) throws(Blocked) -> DiskPath {
        try fillLostPlace(inode, old ?? path.description) { place throws(DiskError) in
            try disk.move(path, to: place)
        }
    }

    /// Copies a file to `lost+found/`, as ``moveToLost(_:inode:was:)`` moves it.
    func copyToLost(
        _ path: DiskPath, inode: InodeNumber, was old: String?
    ) throws(Blocked) -> DiskPath {
        try fillLostPlace(inode, old ?? path.description) { place throws(DiskError) in
            _ = try disk.clone(disk.open(path), to: place)
        }
    }

    /// Writes bytes to a new file in `lost+found/`.
    func writeToLost(
        _ bytes: [UInt8], inode: InodeNumber, was old: String
    ) throws(Blocked) -> DiskPath {
        try fillLostPlace(inode, old) { place throws(DiskError) in
            let file = try disk.open(place)
            try bytes.withUnsafeBufferPointer { buffer throws(DiskError) in
                try file.write(UnsafeRawBufferPointer(buffer), at: 0)
            }
        }
    }

    private func fillLostPlace(
        _ inode: InodeNumber?, _ old: String, _ fill: (DiskPath) throws(DiskError) -> Void
    ) throws(Blocked) -> DiskPath {
        let place = StateFiles.lostPlace(inode, StateFiles.shown(old)) {
            lostPaths.contains($0.description)
        }
        lostPaths.insert(place.description)
        if !isDryRun { try onDisk(Self.attempt) { () throws(DiskError) in try fill(place) } }
        return place
    }

    private static let attempt = "check the state directory"
}
