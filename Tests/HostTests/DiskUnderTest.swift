import Engine
import Host
import Simulation

/// The disks that are tested for the same behaviour.
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
    /// Kept while the disk is in use.
    let directory: TemporaryDirectory?

    /// Cuts the power, if the disk can lose changes that were not synchronised.
    func losePower() { (disk as? SimulatedDisk)?.powerCut() }
}
