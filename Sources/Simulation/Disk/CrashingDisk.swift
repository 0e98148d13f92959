import Engine

/// A disk as one process sees it: nothing happens on it after the process's death.
final class CrashingDisk: Disk {
    private let disk: SimulatedDisk
    private let life: SimulatedLife

    init(_ disk: SimulatedDisk, life: SimulatedLife) {
        self.disk = disk
        self.life = life
    }

    func open(_ path: DiskPath) throws(DiskError) -> any DiskFile {
        try life.step("open \"\(path)\"")
        return MortalFile(try disk.open(path), life: life)
    }

    func clone(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> any DiskFile {
        try life.step("clone a file to \"\(path)\"")
        return MortalFile(try disk.clone(Self.inner(file), to: path), life: life)
    }

    var sharesBytes: Bool { disk.sharesBytes }

    func share(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> (any DiskFile)? {
        guard sharesBytes else { return nil }
        try life.step("share a file as \"\(path)\"")
        return MortalFile(try disk.clone(Self.inner(file), to: path), life: life)
    }

    func copy(
        _ range: Range<UInt64>, of file: any DiskFile, to target: any DiskFile
    ) throws(DiskError) {
        try life.step("copy \(range.count) bytes of a file")
        try disk.copy(range, of: Self.inner(file), to: Self.inner(target))
    }

    private static func inner(_ file: any DiskFile) -> any DiskFile {
        guard let file = file as? MortalFile else {
            preconditionFailure("a file of another disk cannot be cloned by this one")
        }
        return file.file
    }

    func remove(_ path: DiskPath) throws(DiskError) {
        try life.step("remove \"\(path)\"")
        try disk.remove(path)
    }

    func move(_ path: DiskPath, to destination: DiskPath) throws(DiskError) {
        try life.step("move \"\(path)\"")
        try disk.move(path, to: destination)
    }

    func files(below directory: DiskPath) throws(DiskError) -> [DiskPath] {
        try life.step("list the files below \"\(directory)\"")
        return try disk.files(below: directory)
    }

    func contents(
        of directory: DiskPath
    ) throws(DiskError) -> (files: [DiskPath], directories: [DiskPath]) {
        try life.step("list \"\(directory)\"")
        return try disk.contents(of: directory)
    }

    func status(of path: DiskPath) throws(DiskError) -> DiskFileStatus? {
        try life.step("read the status of \"\(path)\"")
        return try disk.status(of: path)
    }

    func highestNumber(
        below directory: DiskPath, limit: UInt64
    ) throws(DiskError) -> UInt64? {
        try life.step("list the numbers below \"\(directory)\"")
        return try disk.highestNumber(below: directory, limit: limit)
    }

    func synchronizeAll() throws(DiskError) {
        try life.step("put all files on the disk")
        try disk.synchronizeAll()
    }

    func space() throws(DiskError) -> StorageSpace {
        try life.step("read the free space of the state directory")
        return try disk.space()
    }
}

/// A file that a ``CrashingDisk`` opened.
private final class MortalFile: DiskFile {
    let file: any DiskFile
    private let life: SimulatedLife

    init(_ file: any DiskFile, life: SimulatedLife) {
        self.file = file
        self.life = life
    }

    func openDescriptor() throws(DiskError) -> (any OpenDescriptor)? { try file.openDescriptor() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError)
        -> Int
    {
        try life.step("read a file")
        return try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
        try life.step("write to a file")
        try file.write(bytes, at: offset)
    }

    func truncate(to size: UInt64) throws(DiskError) {
        try life.step("set the size of a file")
        try file.truncate(to: size)
    }

    func punchHole(_ range: Range<UInt64>) throws(DiskError) {
        try life.step("punch a hole into a file")
        try file.punchHole(range)
    }

    func synchronize() throws(DiskError) {
        try life.step("write a file through to the disk")
        try file.synchronize()
    }

    func requireStored() throws(DiskError) {
        try life.step("wait for the bytes of a file")
        try file.requireStored()
    }

    func status() throws(DiskError) -> DiskFileStatus {
        try life.step("read the status of a file")
        return try file.status()
    }

    func setModified(_ time: Timestamp) throws(DiskError) {
        try life.step("set the time of a file")
        try file.setModified(time)
    }

    func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError) {
        try life.step("set the extended attributes of a file")
        try file.setExtendedAttributes(attributes)
    }
}

extension SimulatedLife {
    /// A step on the disk.
    fileprivate func step(_ attempt: @autoclosure () -> String) throws(DiskError) {
        do throws(Death) {
            try step()
        } catch {
            throw DiskError(.failed, attempt: attempt(), reason: "The process is dead")
        }
    }
}
