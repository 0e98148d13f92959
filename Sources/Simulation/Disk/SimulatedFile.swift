package import Engine

/// An open file of a ``SimulatedDisk``.
package final class SimulatedFile: DiskFile {
    let number: Int
    let life: Int
    let disk: SimulatedDisk
    private let path: DiskPath
    /// The failed syncs of the file before it was opened. Those since fail each later sync of this
    /// one, but not of a file opened after them, although the disk lacks the bytes. Linux: `errseq_t`.
    private let failuresBefore: Int

    init(_ number: Int, path: DiskPath, life: Int, disk: SimulatedDisk, failuresBefore: Int) {
        self.number = number
        self.path = path
        self.life = life
        self.disk = disk
        self.failuresBefore = failuresBefore
    }

    deinit {
        disk.closed(number, of: life)
    }

    /// Simulated files have none.
    package func openDescriptor() -> (any OpenDescriptor)? { nil }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(DiskError) -> Int {
        try disk.operate(
            "read \(buffer.count) bytes at \(offset) of \"\(path)\"", life: life
        ) { state in
            state.image[number].current.bytes.read(into: buffer, at: offset)
        }
    }

    /// Writes the bytes that fit before it fails on a full disk.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
        func attempt() -> String { "write \(bytes.count) bytes at \(offset) of \"\(path)\"" }
        let time = disk.now
        try disk.operate(attempt(), life: life) { (state) throws(DiskError) in
            if bytes.isEmpty { return }
            let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
            if overflow || end > SimulatedBytes.sizeMax { throw .tooLarge(attempt()) }
            let count = state.image[number].current.bytes.writableCount(
                bytes.count, at: offset, roomBytes: disk.capacityBytes - state.image.usedBytes)
            if count > 0 {
                state.image.apply(
                    .write(Array(bytes.prefix(count)), offset: offset, at: time), to: number)
            }
            if count < bytes.count { throw .full(attempt()) }
        }
    }

    package func truncate(to size: UInt64) throws(DiskError) {
        func attempt() -> String { "set the size of \"\(path)\" to \(size)" }
        let time = disk.now
        try disk.operate(attempt(), life: life) { (state) throws(DiskError) in
            if size > SimulatedBytes.sizeMax { throw .tooLarge(attempt()) }
            state.image.apply(.truncate(size: size, at: time), to: number)
        }
    }

    package func punchHole(_ range: Range<UInt64>) throws(DiskError) {
        let time = disk.now
        try disk.operate(
            "release \(range.count) bytes at \(range.lowerBound) of \"\(path)\"", life: life
        ) { state in
            state.image.apply(.punch(range, at: time), to: number)
        }
    }

    package func synchronize() throws(DiskError) {
        func attempt() -> String { "write \"\(path)\" through to the disk" }
        do {
            try disk.operate(attempt(), life: life, isSync: true) { (state) throws(DiskError) in
                try requireStored(attempt(), &state)
                state.image.synchronize(number, as: path.description)
            }
        } catch {
            disk.noteFailedSync(of: number, life: life)
            throw error
        }
        disk.takeDuringSync()?()
    }

    package func requireStored() throws(DiskError) {
        func attempt() -> String { "wait for the bytes of \"\(path)\"" }
        try disk.operate(attempt(), life: life) { (state) throws(DiskError) in
            try requireStored(attempt(), &state)
        }
    }

    private func requireStored(
        _ attempt: String, _ state: inout SimulatedDisk.State
    ) throws(DiskError) {
        if state.image.reportFailures(of: number, after: failuresBefore) {
            throw DiskError(.failed, attempt: attempt, reason: "Input/output error")
        }
    }

    package func status() throws(DiskError) -> DiskFileStatus {
        try disk.operate("read the status of \"\(path)\"", life: life) { state in
            state.image.status(of: number)
        }
    }

    package func setModified(_ time: Timestamp) throws(DiskError) {
        try disk.operate("set the modification time of \"\(path)\"", life: life) { state in
            state.image.apply(.setModified(time), to: number)
        }
    }

    package func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError) {
        try disk.operate("set the extended attributes of \"\(path)\"", life: life) { state in
            state.image.apply(.setExtendedAttributes(attributes), to: number)
        }
    }
}
