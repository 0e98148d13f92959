import Synchronization

/// Filters all images below the given paths and replaces each file atomically.
///
/// Four stages run on their own threads, with bounded queues between them: a walk finds files;
/// readers load them ahead of the filters; workers, one per core, each with a confined child process,
/// decode, filter and encode; writers replace the files. So download, filter and upload overlap on a network folder, and no core waits
/// for a disk.
package final class BatchRun: Sendable {
    private typealias Candidate = (path: RawPath, size: Int)

    private struct Tally {
        var progress = BatchProgress()
        var report: BatchReport
        var isCancelled = false

        mutating func finish(bytes: Int) {
            progress.filesDone += 1
            progress.bytesDone += bytes
        }
    }

    private let paths: [RawPath]
    private let makeWorker: @Sendable () -> ImageWorker
    private let onFailure: @Sendable (RawPath, String) -> Void
    private let tally: Mutex<Tally>
    private let start = ContinuousClock.now
    private let candidates: BoundedQueue<Candidate>
    private let loaded: BoundedQueue<SourceFile>
    private let rendered: BoundedQueue<(source: SourceFile, bytes: [UInt8])>

    /// Paths waiting to be opened: a few megabytes at most, yet enough to show a total early.
    private static let candidatesMax = 65_536
    /// Files read at the same time, and files written at the same time: both wait for disks and
    /// networks rather than for processors.
    private static let transfersAtOnce = 4
    /// Limits of reading ahead of the images being filtered.
    private static let readAheadFilesMax = 32
    private static let readAheadBytesMax = 256 << 20

    /// - Parameters:
    ///   - paths: Files and directories, see ``Walk``.
    ///   - filters: Applied in this order; must not be empty.
    ///   - quality: 1 to 100 for all lossy files; nil keeps about the quality of each original.
    ///   - limits: The most that one picture may take.
    ///   - program: Started once for each worker, and again after a picture that ended it.
    ///   - onFailure: Called with each failure and its reason as it happens, on any thread; the
    ///     stage that failed waits for it.
    package init(
        paths: [RawPath], filters: [Filter], quality: Int? = nil,
        limits: PictureLimits = PictureLimits(), program: WorkerProgram,
        onFailure: @escaping @Sendable (RawPath, String) -> Void = { _, _ in }
    ) {
        precondition(!filters.isEmpty, "a batch without a filter would only lose quality")
        self.paths = paths
        self.onFailure = onFailure
        makeWorker = {
            ImageWorker(program, filters: filters, quality: quality, limits: limits)
        }
        tally = Mutex(Tally(report: BatchReport(filters: filters.map(\.name.rawValue))))
        candidates = BoundedQueue(countMax: Self.candidatesMax)
        loaded = BoundedQueue(
            countMax: Self.readAheadFilesMax, bytesMax: Self.readAheadBytesMax)
        rendered = BoundedQueue(
            countMax: Self.transfersAtOnce, bytesMax: Self.readAheadBytesMax)
    }

    /// Runs to the end or until cancelled; may be called once.
    ///
    /// No temporary file is left behind.
    package func run() async -> BatchReport {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                ThreadPool.run(1) {
                    self.walk()
                } onLast: {
                    self.candidates.finish()
                }
                ThreadPool.run(Self.transfersAtOnce) {
                    self.readAhead()
                } onLast: {
                    self.loaded.finish()
                }
                ThreadPool.run(PictureLimits.workerCount) {
                    self.work()
                } onLast: {
                    self.rendered.finish()
                }
                // Only writers make temporary files, so a cancelled run ends with them: readers
                // and workers have nothing to clean up.
                ThreadPool.run(Self.transfersAtOnce) {
                    self.replace()
                } onLast: {
                    continuation.resume()
                }
            }
        } onCancel: {
            cancel()
        }
        return tally.withLock { tally in
            tally.report.isCancelled = tally.isCancelled
            tally.report.seconds = (ContinuousClock.now - start) / .seconds(1)
            return tally.report
        }
    }

    /// Stops the run soon: replacements under way are finished, all other files stay unchanged.
    package func cancel() {
        tally.withLock { $0.isCancelled = true }
        candidates.cancel()
        loaded.cancel()
        rendered.cancel()
    }

    /// The progress so far; cheap to read.
    package var progress: BatchProgress {
        tally.withLock { tally in
            var progress = tally.progress
            progress.elapsed = ContinuousClock.now - start
            return progress
        }
    }

    private var isCancelled: Bool { tally.withLock(\.isCancelled) }

    private func walk() {
        var walk = Walk { [self] finding in
            switch finding {
            case .candidate(let path, let size):
                tally.withLock {
                    $0.progress.filesFound += 1
                    $0.progress.bytesFound += size
                }
                guard candidates.reserve(bytes: 0) else { return false }
                candidates.put((path, size), reserved: 0)
            case .passedOver:
                tally.withLock { $0.report.filesPassedOver += 1 }
            case .failed(let path, let reason):
                fail(path, reason: reason)
            }
            return !isCancelled
        }
        walk.run(paths)
        tally.withLock { $0.progress.isWalkComplete = true }
    }

    private func readAhead() {
        while let candidate = candidates.take() {
            guard loaded.reserve(bytes: candidate.size) else { return }
            do throws(FileError) {
                let source = try SourceFile.read(candidate.path, isCancelled: { isCancelled })
                if let source {
                    loaded.put(source, reserved: candidate.size)
                    continue
                }
                if !isCancelled { passOver(candidate) }
            } catch {
                fail(candidate.path, reason: error.reason)
                tally.withLock { $0.finish(bytes: candidate.size) }
            }
            loaded.giveBack(bytes: candidate.size)
        }
    }

    private func passOver(_ candidate: Candidate) {
        tally.withLock {
            $0.report.filesPassedOver += 1
            $0.finish(bytes: candidate.size)
        }
    }

    private func work() {
        let worker = makeWorker()
        while let source = loaded.take() {
            do throws(ImageError) {
                let bytes = try worker.render(source.bytes, as: source.format)
                guard rendered.reserve(bytes: bytes.count) else { break }
                rendered.put((source, bytes), reserved: bytes.count)
            } catch {
                if isCancelled { break }
                fail(source.path, reason: error.message)
                tally.withLock { $0.finish(bytes: source.identity.size) }
            }
        }
    }

    private func replace() {
        while let next = rendered.take() {
            do throws(FileError) {
                let replacement = try Replacement(
                    of: next.source.path, identity: next.source.identity)
                try replacement.write(next.bytes)
                try replacement.commit()
                tally.withLock {
                    $0.report.filesChanged += 1
                    $0.report.bytesBefore += next.source.bytes.count
                    $0.report.bytesAfter += next.bytes.count
                }
            } catch {
                fail(next.source.path, reason: error.reason)
            }
            tally.withLock { $0.finish(bytes: next.source.identity.size) }
        }
    }

    private func fail(_ path: RawPath, reason: String) {
        tally.withLock { $0.report.fail(path, reason: reason) }
        onFailure(path, reason)
    }
}
