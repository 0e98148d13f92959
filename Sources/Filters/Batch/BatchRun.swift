import Synchronization

/// Filters all images below some paths, each file replaced in one step.
///
/// Four stages, each on threads of its own, with bounded queues between: a walk finds files; readers
/// open and read them, ahead of the images being worked on; workers, one for each core, decode,
/// filter and code; writers replace. So on a network folder, download, filter and upload overlap,
/// and no core waits for a disk.
package final class BatchRun: Sendable {
    private struct Candidate: Sendable {
        let path: RawPath
        let size: Int
    }

    private struct Rendered: Sendable {
        let source: SourceFile
        let bytes: [UInt8]
    }

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
    private let renderer: Renderer
    private let options: BatchOptions
    private let onFailure: @Sendable (RawPath, String) -> Void
    private let tally: Mutex<Tally>
    private let start = ContinuousClock.now
    private let candidates: BoundedQueue<Candidate>
    private let loaded: BoundedQueue<SourceFile>
    private let rendered: BoundedQueue<Rendered>

    /// Paths waiting to be opened: some megabytes at most, and far enough ahead for a total to show.
    private static let candidatesMax = 65_536

    /// - Parameters:
    ///   - paths: Files and directories, see ``Walk``.
    ///   - filters: Applied in this order; not empty.
    ///   - onFailure: Told each failure with its reason as it happens, from any thread; the run
    ///     waits for it.
    package init(
        paths: [RawPath], filters: [Filter], options: BatchOptions = BatchOptions(),
        onFailure: @escaping @Sendable (RawPath, String) -> Void = { _, _ in }
    ) {
        precondition(!filters.isEmpty, "a batch without a filter would only lose quality")
        self.paths = paths
        self.options = options
        self.onFailure = onFailure
        renderer = Renderer(filters: filters, quality: options.quality)
        tally = Mutex(Tally(report: BatchReport(filters: filters.map(\.name.rawValue))))
        candidates = BoundedQueue(countMax: Self.candidatesMax)
        loaded = BoundedQueue(
            countMax: options.readAheadFilesMax, bytesMax: options.readAheadBytesMax)
        rendered = BoundedQueue(
            countMax: options.transfersAtOnce, bytesMax: options.readAheadBytesMax)
    }

    /// Runs once, to the end or until it is cancelled.
    ///
    /// - Returns: What was done. No temporary file is left behind.
    package func run() async -> BatchReport {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                ThreadPool.run(1) {
                    self.walk()
                } onLast: {
                    self.candidates.finish()
                }
                ThreadPool.run(options.transfersAtOnce) {
                    self.readAhead()
                } onLast: {
                    self.loaded.finish()
                }
                ThreadPool.run(options.imagesAtOnce) {
                    self.work()
                } onLast: {
                    self.rendered.finish()
                }
                // Only writers make temporary files. A cancelled run is over when they are:
                // readers and workers in the middle of something have nothing to tidy up.
                ThreadPool.run(options.transfersAtOnce) {
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

    /// Stops soon: files being replaced are finished, all others stay as they were.
    package func cancel() {
        tally.withLock { $0.isCancelled = true }
        candidates.cancel()
        loaded.cancel()
        rendered.cancel()
    }

    /// How far it is; cheap, to be asked as often as wanted.
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
                candidates.put(Candidate(path: path, size: size), reserved: 0)
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
        while let source = loaded.take() {
            do throws(ImageError) {
                let bytes = try renderer.render(source.bytes, as: source.format)
                guard rendered.reserve(bytes: bytes.count) else { break }
                rendered.put(
                    Rendered(source: source, bytes: bytes), reserved: bytes.count)
            } catch {
                if isCancelled { break }
                fail(source.path, reason: error.message)
                tally.withLock { $0.finish(bytes: source.identity.size) }
            }
        }
        Vips.leaveThread()
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
