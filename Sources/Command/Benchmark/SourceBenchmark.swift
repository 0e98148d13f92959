import Control
import Engine
import Host
import Logging
import ProviderSupport
import Providers
import Synchronization
import Transport

/// Measures a source, and leaves nothing on it.
final class SourceBenchmark: Sendable {
    private let source: Source
    private let caFile: String?
    private let plan: BenchPlan
    private let progress: @Sendable (String) -> Void
    private let hooks = ShutdownHooks()
    private let directory = Mutex<BenchDirectory?>(nil)

    /// How long the removal may take.
    private static let removalMax: Duration = .seconds(120)

    init(
        _ source: Source, caFile: String?, _ plan: BenchPlan,
        progress: @escaping @Sendable (String) -> Void
    ) {
        self.source = source
        self.caFile = caFile
        self.plan = plan
        self.progress = progress
    }

    /// Connects and measures. ``end()`` has to follow, also after a failure and a cancellation.
    ///
    /// - Throws: `CommandFailure`, and `CancellationError`.
    func run() async throws -> BenchReport {
        do {
            return try await measure()
        } catch let error as SourceError {
            throw CommandFailure(
                what: "measure \(source)", why: error.problem, remedy: error.remedy)
        } catch let error as ProviderError where error.kind == .cancelled {
            throw CancellationError()
        } catch let error as ProviderError {
            throw CommandFailure(
                what: "measure \(source)", why: "\(error)",
                remedy: error.remedy ?? remedy(for: error.kind))
        }
    }

    private func remedy(for kind: ProviderError.Kind) -> String? {
        switch kind {
        case .denied, .full, .unsupported:
            plan.isReadOnly ? nil : "if it cannot be written to, use --read-only"
        default: nil
        }
    }

    private func measure() async throws -> BenchReport {
        progress("connecting")
        let provider = try await source.connect(environment)
        let measurements = BenchMeasurements(provider: provider, plan: plan, progress: progress)
        let roundTrip = try await measurements.roundTrip()
        let report: BenchReport
        if plan.isReadOnly {
            report = try await reading(measurements, roundTrip)
        } else {
            report = try await writing(measurements, roundTrip)
        }
        return report.explained(
            takesListingsAsMetadata: source.description.hasPrefix("s3:"))
    }

    private func writing(
        _ measurements: BenchMeasurements, _ roundTrip: BenchReport.RoundTrip
    ) async throws -> BenchReport {
        let directory = BenchDirectory(on: measurements.provider)
        self.directory.withLock { $0 = directory }
        try await directory.create()
        let (smallFiles, files) = try await measurements.smallFiles(in: directory)
        var report = BenchReport(
            source: source.description, roundTrip: roundTrip,
            listing: try await measurements.listing(of: directory.key), smallFiles: smallFiles)
        let traits = measurements.provider.traits
        if !traits.listsMetadata, !traits.trustsListings {
            report.metadataPerSecond = try await measurements.metadata(of: files)
        }
        try await directory.empty()
        report.uploads = try await measurements.uploads(into: directory)
        let file = try await measurements.file(in: directory, rate: report.uploads.best ?? 0)
        report.downloads = try await measurements.downloads(of: file)
        return report
    }

    private func reading(
        _ measurements: BenchMeasurements, _ roundTrip: BenchReport.RoundTrip
    ) async throws -> BenchReport {
        var report = BenchReport(
            source: source.description, roundTrip: roundTrip,
            listing: try await measurements.listing(of: .root))
        progress("looking for a large file")
        let file = try await BenchFile.largest(on: measurements.provider)
        if let file { report.downloads = try await measurements.downloads(of: file) }
        return report
    }

    /// Removes what was made on the source, and ends helper programs.
    ///
    /// - Throws: `CommandFailure` with the name of the directory that is left.
    func end() async throws {
        let directory = directory.withLock { $0.take() }
        if let directory { progress("removing \(directory.name)") }
        let failure = await withTaskGroup(of: ProviderError?.self) { group in
            group.addTask {
                do throws(ProviderError) {
                    try await directory?.remove()
                    return nil
                } catch {
                    return error
                }
            }
            group.addTask {
                try? await Task.sleep(for: Self.removalMax)
                return ProviderError(.unreachable, "it has not answered in time")
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        await hooks.run()
        if let failure, let directory {
            throw CommandFailure(
                what: "remove \(directory.name) from \(source)", why: "\(failure)",
                remedy: "remove this folder there by hand")
        }
    }

    /// As a mount has it, except that the number of requests is ours from the start.
    private var environment: ProviderEnvironment {
        var options = TransportOptions()
        options.caFile = caFile
        options.requestsPerHost = HostLimit.Bounds(start: 64, max: 64)
        options.queriesPerHost = HostLimit.Bounds(start: 64, max: 64, pace: .queries)
        var environment = ProviderEnvironment(
            clock: SystemClock(), transport: HTTPTransport(options),
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        environment.knownNames = .exact
        environment.mayTryProperties = !plan.isReadOnly
        environment.atEnd = { [hooks] in hooks.add($0) }
        environment.waitsFor = { [progress] in progress($0 ?? "connecting") }
        return environment
    }
}

extension BenchFile {
    /// Of smaller files, a request costs more than the bytes.
    private static let bytesMin: UInt64 = 1 << 20
    private static let directoriesMax = 50

    /// Looks for a file that shows how fast the source is: the largest one in the root and some directories
    /// near to it.
    ///
    /// - Returns: nil if none is large enough.
    fileprivate static func largest(
        on provider: any Provider
    ) async throws(ProviderError) -> BenchFile? {
        var (waiting, largest) = ([ObjectKey.root], nil as BenchFile?)
        for index in 0..<directoriesMax where index < waiting.count {
            let directory = waiting[index]
            for object in try await provider.objects(in: directory) {
                let key = directory.appending(object.name)
                if object.kind == .directory, waiting.count < directoriesMax {
                    waiting.append(key)
                }
                if object.kind == .file, object.size >= max(bytesMin, (largest?.size ?? 0) + 1) {
                    largest = BenchFile(key: key, object: object)
                }
            }
            if largest.map({ $0.size >= 64 << 20 }) == true { break }
        }
        return largest
    }
}
