package import Engine
import Synchronization

/// A disk in memory that can fail, lose its power and outlive its process.
///
/// It guarantees no more than ``Disk``. Unsynced bytes and names survive a power cut or not,
/// independently and in no order, depending on the seed. Clones are copies and use space.
/// Modification times come from the clock.
package final class SimulatedDisk: Disk {
    struct State {
        var image = DiskImage()
        var generator: SeededGenerator
        var faults = DiskFaultPlan()
        /// Incremented by each crash; files opened before it are dead.
        var life = 0
        var duringSync: (@Sendable () -> Void)?
    }

    package let capacityBytes: UInt64
    package let sharesBytes: Bool
    private let isQuota: Bool
    private let clock: any Clock
    private let state: Mutex<State>

    /// - Parameters:
    ///   - capacityBytes: Used in pages of 4096 bytes.
    ///   - isQuota: Whether the capacity is a quota on a larger disk, whose free space is reported.
    ///   - sharesBytes: Whether it claims that clones share their bytes.
    package init(
        seed: UInt64, clock: any Clock, capacityBytes: UInt64 = 1 << 40, isQuota: Bool = false,
        sharesBytes: Bool = true
    ) {
        self.sharesBytes = sharesBytes
        self.capacityBytes = capacityBytes
        self.isQuota = isQuota
        self.clock = clock
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    package func open(_ path: DiskPath) throws(DiskError) -> any DiskFile {
        let time = clock.wallTime
        return try operate("open \"\(path)\"") { state in
            if let number = state.image.names[path.description] {
                return self.file(number, path: path, in: &state)
            }
            let number = state.image.create(at: time)
            state.image.link(number, as: path.description)
            return self.file(number, path: path, in: &state)
        }
    }

    package func clone(_ file: any DiskFile, to path: DiskPath) throws(DiskError) -> any DiskFile {
        guard let source = file as? SimulatedFile, source.disk === self else {
            preconditionFailure("a file of another disk cannot be cloned by this one")
        }
        func attempt() -> String { "clone a file to \"\(path)\"" }
        let time = clock.wallTime
        return try operate(attempt(), life: source.life) { (state) throws(DiskError) in
            let bytes = state.image[source.number].current.bytes
            if bytes.allocatedBytes > self.capacityBytes - state.image.usedBytes {
                throw .full(attempt())
            }
            let number = state.image.create(at: time)
            state.image.apply(.fill(bytes, at: time), to: number)
            state.image.link(number, as: path.description)
            return self.file(number, path: path, in: &state)
        }
    }

    package func share(
        _ file: any DiskFile, to path: DiskPath
    ) throws(DiskError) -> (any DiskFile)? {
        sharesBytes ? try clone(file, to: path) : nil
    }

    package func copy(
        _ range: Range<UInt64>, of file: any DiskFile, to target: any DiskFile
    ) throws(DiskError) {
        let bytes = try file.read(range.count, at: range.lowerBound)
        guard bytes.count == range.count else {
            throw DiskError(
                .failed, attempt: "copy \(range.count) bytes at \(range.lowerBound) of a file",
                reason: "The file has only \(bytes.count)")
        }
        try target.write(bytes, at: range.lowerBound)
    }

    package func move(_ path: DiskPath, to destination: DiskPath) throws(DiskError) {
        let attempt = "move \"\(path)\" to \"\(destination)\""
        try operate(attempt) { (state) throws(DiskError) in
            guard state.image.move(path.description, to: destination.description) else {
                throw DiskError(.missing, attempt: attempt, reason: "there is no such file")
            }
        }
    }

    package func remove(_ path: DiskPath) throws(DiskError) {
        try operate("remove \"\(path)\"") { $0.image.unlink(path.description) }
    }

    package func files(below directory: DiskPath) throws(DiskError) -> [DiskPath] {
        let prefix = directory.description.isEmpty ? "" : "\(directory)/"
        return try operate("list the files below \"\(directory)\"") { state in
            state.image.names.keys.filter { $0.hasPrefix(prefix) }.sorted().map { DiskPath($0) }
        }
    }

    package func contents(
        of directory: DiskPath
    ) throws(DiskError) -> (files: [DiskPath], directories: [DiskPath]) {
        let prefix = directory.description.isEmpty ? "" : "\(directory)/"
        return try operate("list \"\(directory)\"") { state in
            var (files, directories): ([String], Set<String>) = ([], [])
            for name in state.image.names.keys.filter({ $0.hasPrefix(prefix) }).sorted() {
                if let end = name.dropFirst(prefix.count).firstIndex(of: "/") {
                    directories.insert(String(name[..<end]))
                } else {
                    files.append(name)
                }
            }
            return (files.map { DiskPath($0) }, directories.sorted().map { DiskPath($0) })
        }
    }

    package func status(of path: DiskPath) throws(DiskError) -> DiskFileStatus? {
        try operate("read the status of \"\(path)\"") { state in
            state.image.names[path.description].map { state.image.status(of: $0) }
        }
    }

    package func highestNumber(
        below directory: DiskPath, limit: UInt64
    ) throws(DiskError) -> UInt64? {
        let depth = directory.description.split(separator: "/").count + 2
        return try operate("list the numbers below \"\(directory)\"") { state in
            var highest: UInt64?
            for name in state.image.names.keys where name.hasPrefix("\(directory)/") {
                let names = name.split(separator: "/")
                guard names.count == depth, let number = UInt64(names[depth - 1]), number <= limit
                else { continue }
                highest = max(highest ?? 0, number)
            }
            return highest
        }
    }

    package func synchronizeAll() throws(DiskError) {
        do {
            try operate("put all files on the disk", isSync: true) { $0.image.synchronizeAll() }
        } catch {
            state.withLock { $0.image.failToSynchronizeAll() }
            throw error
        }
    }

    package func space() throws(DiskError) -> StorageSpace {
        try operate("read the free space of the state directory") { state in
            let total = self.isQuota ? 1 << 40 : self.capacityBytes
            return StorageSpace(
                totalBytes: total, availableBytes: total - state.image.usedBytes)
        }
    }
}

// MARK: - Inspection

extension SimulatedDisk {
    /// Whether a file has bytes that can be read, but are not on their way to the medium, as a sync
    /// has failed.
    func hasLostBytes(_ path: DiskPath) -> Bool {
        state.withLock { state in
            state.image.names[path.description].map { state.image[$0].hasLostBytes } ?? false
        }
    }

    /// Returns the number of failed syncs of a file.
    func failedSyncs(of path: DiskPath) -> Int {
        state.withLock { state in
            state.image.names[path.description].map { state.image[$0].failures } ?? 0
        }
    }

    /// Whether a process was told of all failed syncs of a file.
    func hasReportedFailures(of path: DiskPath) -> Bool {
        state.withLock { state in
            state.image.names[path.description].map {
                state.image[$0].failures == state.image[$0].failuresReported
            } ?? true
        }
    }

    /// Bytes of all files that have a name or are open.
    package var usedBytes: UInt64 { state.withLock { $0.image.usedBytes } }

    /// The maximum of ``usedBytes`` since the last call.
    package func takeUsedBytesMax() -> UInt64 {
        state.withLock { state in
            defer { state.image.usedBytesMax = state.image.usedBytes }
            return state.image.usedBytesMax
        }
    }

    /// Returns the extended attributes of a file, or `nil` if it does not exist.
    package func extendedAttributes(of path: DiskPath) -> ExtendedAttributes? {
        state.withLock { state in
            state.image.names[path.description].map {
                state.image[$0].current.extendedAttributes
            }
        }
    }
}

// MARK: - Faults

extension SimulatedDisk {
    /// Sets work of another thread during the next sync of a file, which covers nothing of it.
    package func setDuringSync(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.duringSync = work }
    }

    func takeDuringSync() -> (@Sendable () -> Void)? {
        state.withLock { state in
            defer { state.duringSync = nil }
            return state.duringSync
        }
    }

    package func setFaults(_ faults: DiskFaultPlan) {
        state.withLock { $0.faults = faults }
    }

    /// Cuts the power and restores it: unsynced data may be lost, in whole or in part, and open
    /// files fail permanently.
    package func powerCut() {
        state.withLock { state in
            state.life += 1
            state.image.loseMemory(by: &state.generator)
        }
    }

    /// Ends the process: all written data stays, and open files fail permanently.
    package func kill() {
        state.withLock { state in
            state.life += 1
            state.image.closeAll()
        }
    }
}

// MARK: - For the files

extension SimulatedDisk {
    /// Performs one operation, unless a fault is due.
    ///
    /// - Parameter life: That of the file used by the operation.
    func operate<Result: Sendable>(
        _ attempt: @autoclosure () -> String, life: Int? = nil, isSync: Bool = false,
        _ body: (inout State) throws(DiskError) -> Result
    ) throws(DiskError) -> Result {
        try state.withLock { (state) throws(DiskError) in
            switch state.faults.take(isSync: isSync) {
            case .fails, .failsToSynchronize:
                throw DiskError(.failed, attempt: attempt(), reason: "Input/output error")
            case .full: throw .full(attempt())
            case nil: break
            }
            if let life, life != state.life {
                throw DiskError(
                    .failed, attempt: attempt(),
                    reason: "The file was opened before the machine went down")
            }
            return try body(&state)
        }
    }

    /// The bytes of a failed sync never reach the medium.
    func noteFailedSync(of number: Int, life: Int) {
        state.withLock { state in
            guard state.life == life else { return }
            state.image.failToSynchronize(number)
            _ = state.image.reportFailures(of: number, after: 0)
        }
    }

    var now: Timestamp { clock.wallTime }

    /// Called when the last reference to a file is released; a file of an earlier life is closed
    /// already.
    func closed(_ number: Int, of life: Int) {
        state.withLock { if $0.life == life { $0.image.closed(number) } }
    }

    private func file(_ number: Int, path: DiskPath, in state: inout State) -> SimulatedFile {
        state.image.opened(number)
        return SimulatedFile(
            number, path: path, life: state.life, disk: self,
            failuresBefore: state.image[number].failuresReported)
    }
}

extension DiskError {
    static func full(_ attempt: String) -> DiskError {
        DiskError(.full, attempt: attempt, reason: "No space left on device")
    }

    static func tooLarge(_ attempt: String) -> DiskError {
        DiskError(.tooLarge, attempt: attempt, reason: "File too large")
    }
}
