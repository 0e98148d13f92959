import Control
import Engine
import Host
import Meters
import Mount
import Transport

// The metrics of the control API. Everything is read when it is asked for.

extension MountedEngine {
    func metrics() async throws(ControlError) -> [MetricFamily] {
        let status = try await onEngine { () async throws(EngineError) in
            (
                try engine.status(below: .root, limit: 0, onlyActive: true),
                try engine.heldDeletions(below: .root)
            )
        }
        return [Metric.buildInfo.family(by: [(ProgramVersion.text, .count(1))])] + kernelMetrics
            + remoteMetrics(status.0.reachability) + httpMetrics
            + statusMetrics(status.0, held: status.1) + databaseMetrics + Self.processMetrics
    }

    private var kernelMetrics: [MetricFamily] {
        let meter = session.meter
        return [
            Metric.kernelRequestDuration.family(
                by: RequestKind.allCases.map { ($0.name, .distribution(meter.snapshot($0))) }),
            Metric.kernelRequestErrors.family(
                by: EngineError.Kind.allCases.map { ($0.rawValue, .count(meter.count($0))) }),
            Metric.kernelReadBytes.family(.count(meter.readBytes.value)),
            Metric.kernelWrittenBytes.family(.count(meter.writtenBytes.value)),
        ]
    }

    private func remoteMetrics(_ reachability: Reachability) -> [MetricFamily] {
        let meter = transfers.meter
        let results = [nil] + ProviderError.Kind.allCases.map(Optional.some)
        let counts = ProviderCall.Kind.allCases.flatMap { kind in
            results.compactMap { result -> MetricFamily.Sample? in
                let count = meter.count(kind, result)
                guard count > 0 || result == nil else { return nil }
                return .init(
                    .count(count),
                    labels: [
                        .init("request", kind.rawValue), .init("result", result?.rawValue ?? "ok"),
                    ])
            }
        }
        return [
            Metric.remoteRequests.family(counts),
            Metric.remoteRequestDuration.family(
                by: ProviderCall.Kind.allCases.compactMap { kind in
                    meter.snapshot(kind).map { (kind.rawValue, .distribution($0)) }
                }),
            Metric.remoteReceivedBytes.family(.count(engine.bytesReceived)),
            Metric.remoteSentBytes.family(.count(engine.bytesSent)),
            Metric.remoteReachable.family(.count(reachability.isReachable ? 1 : 0)),
        ]
    }

    private var httpMetrics: [MetricFamily] {
        let (meter, bandwidth) = (transfers.transport.meter, transfers.transport.bandwidth)
        let counts = meter.counts.map { outcome, count in
            MetricFamily.Sample(
                .count(count),
                labels: [
                    .init("method", outcome.method),
                    .init("status", outcome.status.map(String.init) ?? "none"),
                ])
        }
        let limits = [("up", bandwidth.up), ("down", bandwidth.down)]
        return [
            Metric.httpRequests.family(counts),
            Metric.httpRequestDuration.family(
                by: meter.snapshots.map { ($0.method, .distribution($0.durations)) }),
            Metric.httpReceivedBytes.family(.count(meter.received.value)),
            Metric.httpSentBytes.family(.count(meter.sent.value)),
            Metric.bandwidthLimit.family(
                by: limits.compactMap { name, limit in limit.map { (name, .count($0)) } }),
        ]
    }

    private func statusMetrics(_ status: EngineStatus, held: HeldDeletions) -> [MetricFamily] {
        let pending = status.pending
        let others = pending.transferring + pending.failed
        return [
            Metric.cacheBytes.family(.count(status.localBytes)),
            Metric.cacheLimitBytes.family(.count(status.cacheBytesMax)),
            Metric.items.family(.count(status.itemCount)),
            Metric.pendingItems.family(by: [
                ("uploading", .count(pending.transferring)), ("failed", .count(pending.failed)),
                ("waiting", .count(pending.count - min(pending.count, others))),
            ]),
            Metric.pendingBytes.family(.count(pending.bytes)),
            Metric.heldDeletions.family(.count(UInt64(held.items))),
            Metric.conflicts.family(.count(status.conflictCount)),
        ]
    }

    private var databaseMetrics: [MetricFamily] {
        [
            Metric.databaseCommitDuration.family(.distribution(store.commitTimes.snapshot)),
            Metric.databaseSyncDuration.family(.distribution(store.syncTimes.snapshot)),
        ]
    }

    private static var processMetrics: [MetricFamily] {
        let usage = ProcessUsage()
        return [
            Metric.processResidentMemory.family(.count(usage.residentBytes)),
            Metric.processCPU.family(.number(usage.processorSeconds)),
            Metric.processOpenDescriptors.family(.count(usage.descriptors)),
            Metric.processStartTime.family(.number(usage.startTime)),
        ]
    }
}
