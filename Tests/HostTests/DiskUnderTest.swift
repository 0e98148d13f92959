import Engine
import Host
import Simulation

/// The disks that owe the same behaviour.
enum DiskKind: CaseIterable, Sendable {
    case posix, simulated

    func make() throws -> DiskUnderTest {
        switch self {
        case .posix:
            let directory = try TemporaryDirectory()
            return DiskUnderTest(
                disk: try PosixDisk(directory: directory.path), directory: directory)
        case .simulated:
            return DiskUnderTest(
                disk: SimulatedDisk(seed: 1, clock: SimulatedClock()), directory: nil)
        }
    }
}

struct DiskUnderTest {
    let disk: any Disk
    /// Kept for as long as the disk is in use.
    let directory: TemporaryDirectory?

    /// Takes what was not synchronised away from a disk that can lose it.
    func losePower() { (disk as? SimulatedDisk)?.powerCut() }
}
