import Control
import Engine
import Logging
import Transport

// The bandwidth of the control API.

extension MountedEngine {
    func bandwidth() -> BandwidthReport {
        BandwidthReport(mountPoint: options.mountPoint, transfers.transport.bandwidth)
    }

    func setBandwidth(_ bandwidth: Bandwidth) async throws(ControlError) -> BandwidthReport {
        try await onEngine { () async throws(EngineError) in
            try store.keep(.bandwidth, bandwidth.text)
        }
        transfers.transport.setBandwidth(bandwidth)
        logger.info("The bandwidth is \(bandwidth.phrase).")
        return self.bandwidth()
    }
}
