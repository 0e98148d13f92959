package import Meters

/// The metrics that a daemon exports, as `docs/control-api.md` lists them.
package enum Metric: String, CaseIterable, Sendable {
    case buildInfo = "apus_build_info"
    case kernelRequestDuration = "apus_kernel_request_duration_seconds"
    case kernelRequestErrors = "apus_kernel_request_errors_total"
    case kernelReadBytes = "apus_kernel_read_bytes_total"
    case kernelWrittenBytes = "apus_kernel_written_bytes_total"
    case remoteRequests = "apus_remote_requests_total"
    case remoteRequestDuration = "apus_remote_request_duration_seconds"
    case remoteReceivedBytes = "apus_remote_received_bytes_total"
    case remoteSentBytes = "apus_remote_sent_bytes_total"
    case remoteReachable = "apus_remote_reachable"
    case httpRequests = "apus_http_requests_total"
    case httpRequestDuration = "apus_http_request_duration_seconds"
    case httpReceivedBytes = "apus_http_received_bytes_total"
    case httpSentBytes = "apus_http_sent_bytes_total"
    case bandwidthLimit = "apus_bandwidth_limit_bytes_per_second"
    case cacheBytes = "apus_cache_bytes"
    case cacheLimitBytes = "apus_cache_limit_bytes"
    case items = "apus_items"
    case pendingItems = "apus_pending_items"
    case pendingBytes = "apus_pending_bytes"
    case heldDeletions = "apus_held_deletions"
    case conflicts = "apus_conflicts"
    case databaseCommitDuration = "apus_database_commit_duration_seconds"
    case databaseSyncDuration = "apus_database_sync_duration_seconds"
    case processResidentMemory = "process_resident_memory_bytes"
    case processCPU = "process_cpu_seconds_total"
    case processOpenDescriptors = "process_open_fds"
    case processStartTime = "process_start_time_seconds"

    package var kind: MetricFamily.Kind {
        switch self {
        case _ where rawValue.hasSuffix("_duration_seconds"): .histogram
        case _ where rawValue.hasSuffix("_total"): .counter
        default: .gauge
        }
    }

    /// The names of the labels beside ``mountLabel``.
    package var labels: [String] {
        switch self {
        case .buildInfo: ["version"]
        case .kernelRequestDuration, .remoteRequestDuration: ["request"]
        case .kernelRequestErrors: ["error"]
        case .remoteRequests: ["request", "result"]
        case .httpRequests: ["method", "status"]
        case .httpRequestDuration: ["method"]
        case .bandwidthLimit: ["direction"]
        case .pendingItems: ["state"]
        default: []
        }
    }

    /// The label of every sample: the mount point.
    package static let mountLabel = "mount"

    package var help: String {
        switch self {
        case .buildInfo: "1, with the version of the program."
        case .kernelRequestDuration: "Time from a request of the kernel to its answer."
        case .kernelRequestErrors: "Requests of the kernel that failed."
        case .kernelReadBytes: "Bytes that programs have read through the daemon."
        case .kernelWrittenBytes: "Bytes that programs have written."
        case .remoteRequests: "Calls of the remote, such as a page of a listing."
        case .remoteRequestDuration: "Duration of calls of the remote."
        case .remoteReceivedBytes: "Bytes of files that were fetched."
        case .remoteSentBytes: "Bytes of files that were sent, each once."
        case .remoteReachable: "1 if the remote answers and accepts the credentials, else 0."
        case .httpRequests: "HTTP requests to the remote."
        case .httpRequestDuration: "Duration of HTTP requests, with the wait for their turn."
        case .httpReceivedBytes: "Bytes of answers, with their headers."
        case .httpSentBytes: "Bytes of the bodies of requests, also if sent again."
        case .bandwidthLimit: "The limit of a direction; missing if there is none."
        case .cacheBytes: "Space of local copies on the disk."
        case .cacheLimitBytes: "How much space local copies may take at present."
        case .items: "Files, directories and links that the daemon knows."
        case .pendingItems: "Items with changes that are not on the remote."
        case .pendingBytes: "Bytes still to be sent."
        case .heldDeletions: "Items deleted on the remote that wait for a confirmation."
        case .conflicts: "Versions that a remote version displaced from their name."
        case .databaseCommitDuration: "Duration of commits of the state's database."
        case .databaseSyncDuration: "Duration of making commits survive a power cut."
        case .processResidentMemory: "Resident memory of the daemon."
        case .processCPU: "Processor time of the daemon."
        case .processOpenDescriptors: "Open file descriptors of the daemon."
        case .processStartTime: "Start of the daemon, in seconds since 1970."
        }
    }

    package func family(_ samples: [MetricFamily.Sample]) -> MetricFamily {
        MetricFamily(rawValue, kind, help: help, samples: samples)
    }

    /// A family with samples that differ in the value of the only label.
    package func family(
        by values: [(label: String, value: MetricFamily.Value)]
    ) -> MetricFamily {
        family(values.map { .init($0.value, labels: [.init(labels[0], $0.label)]) })
    }

    package func family(_ value: MetricFamily.Value) -> MetricFamily { family([.init(value)]) }
}
