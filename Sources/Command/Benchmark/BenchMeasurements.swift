import Engine
import Synchronization

/// The steps of `apus bench`, on a provider.
struct BenchMeasurements: Sendable {
    let provider: any Provider
    let plan: BenchPlan
    /// Receives the step that begins.
    let progress: @Sendable (String) -> Void

    private typealias Instant = ContinuousClock.Instant

    // MARK: Requests

    func roundTrip() async throws -> BenchReport.RoundTrip {
        progress("round trip")
        // The first one makes the connection.
        _ = try await probeTime()
        var times: [Double] = []
        for _ in 0..<plan.probes { times.append(try await probeTime()) }
        times.sort()
        return BenchReport.RoundTrip(
            minMilliseconds: times[0], medianMilliseconds: times[times.count / 2],
            maxMilliseconds: times[times.count - 1])
    }

    /// - Returns: The milliseconds of a probe that is answered.
    private func probeTime() async throws -> Double {
        for _ in 0..<Self.repeatedProbesMax {
            do {
                return try await Self.milliseconds { try await provider.probe() }
            } catch let error as ProviderError where error.isPassing {
                // A folder takes only some probes at a time, and the last ones may not be cleared away yet.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        return try await Self.milliseconds { try await provider.probe() }
    }

    private static let repeatedProbesMax = 5

    func listing(of directory: ObjectKey) async throws -> BenchReport.Listing {
        progress("listing")
        var names = 0
        let time = try await Self.milliseconds {
            names = try await provider.objects(in: directory).count
        }
        return BenchReport.Listing(names: names, milliseconds: time)
    }

    // MARK: Small files

    func smallFiles(
        in directory: BenchDirectory
    ) async throws -> (report: BenchReport.SmallFiles, files: [BenchFile]) {
        progress("small files")
        let files = Mutex<[BenchFile]>([])
        let begun = Atomic<Int>(0)
        let workers = max(1, min(provider.traits.transfersMax, 16))
        let written = try await inParallel(workers, until: .now + plan.smallFilesTime) {
            guard begun.add(1, ordering: .relaxed).newValue <= plan.smallFilesMax else {
                return nil
            }
            let file = try await directory.write(BenchPlan.smallFileBytes)
            files.withLock { $0.append(file) }
            return 1
        }
        let all = files.withLock(\.self)
        let read = try await eachOnce(of: all, workers, within: plan.smallFilesTime) { file in
            try await provider.read(
                file.key, range: 0..<file.size, etag: file.etag, into: BenchSink())
        }
        let report = BenchReport.SmallFiles(
            bytesEach: BenchPlan.smallFileBytes, writtenPerSecond: written, readPerSecond: read)
        return (report, all)
    }

    /// For how many files a second metadata come that listings lack.
    func metadata(of files: [BenchFile]) async throws -> Double {
        progress("metadata")
        let workers = max(1, min(provider.traits.queriesMax, 64))
        return try await eachOnce(of: files, workers, within: plan.smallFilesTime) { file in
            _ = try await provider.stat(file.key)
        }
    }

    // MARK: Throughput

    func uploads(into directory: BenchDirectory) async throws -> [BenchReport.Throughput] {
        let first = BenchPlan.pieceBytes.lowerBound
        var best =
            first * 1_000
            / UInt64(max(1, try await Self.milliseconds { _ = try await directory.write(first) }))
        var rates: [BenchReport.Throughput] = []
        for connections in plan.connections {
            progress("uploads with \(connections) at a time")
            // Each connection sends one or two files.
            let share = Double(best) * plan.phase.inSeconds / Double(connections)
            let piece = min(
                max(UInt64(share), BenchPlan.pieceBytes.lowerBound), BenchPlan.pieceBytes.upperBound
            )
            let begun = Atomic<UInt64>(0)
            let rate = try await inParallel(connections, until: .now + plan.phase / 2) {
                let total = begun.add(piece, ordering: .relaxed).newValue
                guard total <= plan.phaseBytesMax else { return nil }
                return try await directory.write(piece).size
            }
            rates.append(.init(connections: connections, bytesPerSecond: UInt64(rate)))
            best = max(best, UInt64(rate))
            try await directory.empty()
        }
        return rates
    }

    /// Stores the file for ``downloads(of:)``, as large as the line sends in some seconds.
    func file(in directory: BenchDirectory, rate: UInt64) async throws -> BenchFile {
        progress("a file to read")
        let bytes = UInt64(Double(rate) * plan.phase.inSeconds)
        return try await directory.write(min(max(bytes, 1 << 20), plan.fileBytesMax))
    }

    func downloads(of file: BenchFile) async throws -> [BenchReport.Throughput] {
        var rates: [BenchReport.Throughput] = []
        for connections in plan.connections {
            progress("downloads with \(connections) at a time")
            let rate = try await download(file, by: connections)
            rates.append(.init(connections: connections, bytesPerSecond: rate))
        }
        return rates
    }

    /// - Returns: The bytes a second that arrive until the time is over.
    private func download(_ file: BenchFile, by connections: Int) async throws -> UInt64 {
        let piece = max(min(file.size / UInt64(connections), 8 << 20), 1)
        let sink = BenchSink()
        let turns = Atomic<UInt64>(0)
        let start = ContinuousClock.now
        let reading: @Sendable () async throws -> Bool = {
            while sink.bytes < plan.phaseBytesMax {
                let turn = turns.add(1, ordering: .relaxed).oldValue
                let offset = turn * piece % max(file.size - piece + 1, 1)
                try await provider.read(
                    file.key, range: offset..<(offset + piece), etag: file.etag, into: sink)
            }
            return false
        }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<connections { group.addTask(operation: reading) }
            group.addTask {
                try? await Task.sleep(for: plan.phase)
                return true
            }
            var working = connections
            while working > 0, let isOver = try await group.next(), !isOver { working -= 1 }
            group.cancelAll()
            // Reads that are cut off fail.
            while await group.nextResult() != nil {}
        }
        try Task.checkCancellation()
        return UInt64(Double(sink.bytes) / (ContinuousClock.now - start).inSeconds)
    }

    // MARK: Work side by side

    /// Calls `work` in so many tasks until it returns nil in each, or is called after the time.
    ///
    /// - Returns: The sum of what it returned, for each second.
    private func inParallel(
        _ workers: Int, until end: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async throws -> UInt64?
    ) async throws -> Double {
        let start = ContinuousClock.now
        let sum = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for _ in 0..<workers {
                group.addTask {
                    var sum: UInt64 = 0
                    repeat {
                        try Task.checkCancellation()
                        guard let units = try await work() else { break }
                        sum += units
                    } while ContinuousClock.now < end
                    return sum
                }
            }
            return try await group.reduce(0, +)
        }
        return Double(sum) / max((ContinuousClock.now - start).inSeconds, 1e-6)
    }

    /// - Returns: How many calls there were for each second.
    private func eachOnce(
        of files: [BenchFile], _ workers: Int, within time: Duration,
        _ call: @escaping @Sendable (BenchFile) async throws -> Void
    ) async throws -> Double {
        let begun = Atomic<Int>(0)
        return try await inParallel(workers, until: .now + time) {
            let index = begun.add(1, ordering: .relaxed).oldValue
            guard index < files.count else { return nil }
            try await call(files[index])
            return 1
        }
    }

    private static func milliseconds(_ work: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await work()
        return (ContinuousClock.now - start).inSeconds * 1_000
    }
}

extension Duration {
    fileprivate var inSeconds: Double { self / .seconds(1) }
}
