import CSimulation
import Engine
import GRDB
import Glibc
import Synchronization

/// A simulated disk below a real SQLite. Bytes that SQLite did not sync may be lost in a power cut,
/// depending on the seed.
final class DatabaseDisk: Sendable {
    fileprivate struct State {
        var generator: SeededGenerator
        var life: SimulatedLife?
        var faults = DiskFaultPlan()
    }

    // sound: made once, and used by the one thread that drives the simulation.
    nonisolated(unsafe) private let disk: OpaquePointer
    private let box: Box

    /// Called by the C side.
    fileprivate final class Box: Sendable {
        fileprivate let state: Mutex<State>

        init(_ generator: SeededGenerator) {
            state = Mutex(State(generator: generator))
        }
    }

    init(random: SeededGenerator) {
        box = Box(random)
        // The disk is gone before the box is: see `deinit`.
        let context = Unmanaged.passUnretained(box).toOpaque()
        disk = simulated_disk_create(
            { context, operation in
                guard let context else { return EIO }
                return Unmanaged<Box>.fromOpaque(context).takeUnretainedValue().step(operation)
            }, context)
    }

    deinit { simulated_disk_destroy(disk) }

    /// Opens the database for a process. It has to be closed before the next one opens it.
    func open(for life: SimulatedLife) throws -> DatabaseQueue {
        box.state.withLock { $0.life = life }
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            // The index of the log stays in memory, so that no file is shared.
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            // The store makes checkpoints.
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private var path: String { "/simulated/\(simulated_disk_number(disk))/state.sqlite" }

    /// All connections must be closed.
    func cutPower() {
        let context = Unmanaged.passUnretained(box).toOpaque()
        simulated_disk_cut_power(
            disk,
            { context in
                guard let context else { return 0 }
                let box = Unmanaged<Box>.fromOpaque(context).takeUnretainedValue()
                return box.state.withLock { $0.generator.next() }
            }, context)
    }

    func setFaults(_ faults: DiskFaultPlan) {
        box.state.withLock { $0.faults = faults }
    }
}

extension DatabaseDisk: DatabaseLog {
    func synchronize() throws(DiskError) { try synchronize(rewriting: false) }

    func rewrite() throws(DiskError) { try synchronize(rewriting: true) }

    private func synchronize(rewriting: Bool) throws(DiskError) {
        let path = "\(path)-wal"
        let code = simulated_disk_synchronize(disk, path, rewriting ? 1 : 0)
        guard code != 0 else { return }
        throw DiskError(
            code == ENOSPC ? .full : .failed, attempt: "synchronize \"\(path)\"",
            reason: String(cString: strerror(code)))
    }
}

extension DatabaseDisk.Box {
    /// - Returns: 0, or an errno.
    fileprivate func step(_ operation: simulated_operation) -> Int32 {
        let life = state.withLock { $0.life }
        guard let life, !life.isDead else { return ESRCH }
        if operation == SIMULATED_READ { return 0 }
        do throws(SimulatedLife.Death) {
            try life.step()
        } catch {
            return ESRCH
        }
        return state.withLock { state in
            switch state.faults.take(isSync: operation == SIMULATED_SYNC) {
            case .full: ENOSPC
            case .fails, .failsToSynchronize: EIO
            case nil: 0
            }
        }
    }
}

/// Which of the next operations of a disk fail.
package struct DiskFaultPlan: Hashable, Sendable {
    package enum Failure: Hashable, Sendable {
        case fails
        case full
        /// Syncs only: the bytes of a failed one stay readable, but never reach the medium.
        case failsToSynchronize
    }

    private var countdown = 0
    private var failures = 0
    private var kind = Failure.fails

    package init() {}

    /// - Parameters:
    ///   - first: The number of operations, or of syncs, that succeed first.
    ///   - count: The number of operations that fail then.
    package init(_ kind: Failure, after first: Int, count: Int) {
        self.kind = kind
        countdown = first
        failures = count
    }

    /// Returns the fault of the next operation.
    mutating func take(isSync: Bool) -> Failure? {
        guard failures > 0, isSync || kind != .failsToSynchronize else { return nil }
        if countdown > 0 {
            countdown -= 1
            return nil
        }
        failures -= 1
        return kind
    }
}
