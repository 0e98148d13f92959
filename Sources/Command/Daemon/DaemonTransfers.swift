import Control
import Engine
import ProviderSupport
import Providers
import Transport

/// The transfers of a mount: how they are measured and limited, outside of the engine.
struct DaemonTransfers: Sendable {
    let meter = ProviderMeter()
    let transport: HTTPTransport

    /// Limits the transfers to the bandwidth that is given, or to that of earlier.
    func limit(to given: Bandwidth?, keptIn store: Store) throws(EngineError) {
        let kept = given == nil ? try Self.bandwidth(keptIn: store) : nil
        transport.setBandwidth(given ?? kept ?? .unlimited)
    }

    private static func bandwidth(keptIn store: Store) throws(EngineError) -> Bandwidth {
        guard let text = try store.setting(.bandwidth) else { return .unlimited }
        return (try? Bandwidth(parsing: text)) ?? .unlimited
    }

    /// Returns a provider whose calls are measured and limited.
    func wrapping(
        _ provider: any Provider, of source: Source, clock: any Clock
    ) -> any Provider {
        // The others limit themselves, in the transport or in rclone.
        let isLimitedHere = source.localFolder != nil
        return MeasuredProvider(
            isLimitedHere
                ? LimitedProvider(provider, to: transport, clock: clock) : provider,
            meter: meter, clock: clock)
    }
}
