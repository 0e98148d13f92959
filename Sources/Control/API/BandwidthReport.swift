package import Transport

/// The limits of a mount's transfers.
package struct BandwidthReport: Codable, Hashable, Sendable {
    package var mountPoint: String
    /// nil for no limit.
    package var up: UInt64?
    /// nil for no limit.
    package var down: UInt64?

    package init(mountPoint: String, _ bandwidth: Bandwidth) {
        self.mountPoint = mountPoint
        (up, down) = (bandwidth.up, bandwidth.down)
    }

    package var bandwidth: Bandwidth { Bandwidth(up: up, down: down) }
}
