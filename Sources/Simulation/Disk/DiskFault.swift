/// A fault of a ``SimulatedDisk``.
package enum DiskFault: Hashable, Sendable {
    /// One operation fails, with `EIO`, and changes nothing.
    case operationFails
    /// A power cut: see ``SimulatedDisk/powerCut()``. All operations fail until
    /// ``SimulatedDisk/restart()``.
    case powerCut
    /// The process dies: see ``SimulatedDisk/kill()``. All operations fail until
    /// ``SimulatedDisk/restart()``.
    case kill
}
