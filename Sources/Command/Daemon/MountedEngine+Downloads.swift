import Control
import Engine
import Synchronization

// The downloads of the control API in terms of the engine.

extension MountedEngine {
    /// The files that are named of each program.
    private static let filesMax = 3

    func programs() async throws(ControlError) -> ProgramsReport {
        let programs = try await onEngine { () throws(EngineError) in
            try engine.downloads.programs(filesMax: Self.filesMax)
        }
        return ProgramsReport(
            mountPoint: options.mountPoint,
            programs: programs.map { program in
                ProgramDownloads(
                    program: program.name, bytes: program.bytes, files: program.fileCount,
                    hasMore: program.hasMoreFiles,
                    largest: program.largest.map {
                        ProgramDownloads.File(path: $0.path, bytes: $0.bytes)
                    })
            })
    }

    func download(_ paths: [String]) -> AsyncThrowingStream<DownloadProgress, any Error> {
        stream { report in
            let (outcome, last) = try await self.download(paths, report)
            switch outcome {
            case .excess(let excess):
                throw ControlError(
                    .refused, what: "download",
                    why: "the files take \(HumanSize.format(excess.bytes)), and the cache has "
                        + HumanSize.format(excess.bytesMax),
                    remedy: "choose fewer files, or mount with a larger --cache-size")
            case .done(let failures):
                var progress = last
                progress.failed = failures.map { .init($0) }
                progress.isDone = true
                report(progress)
            }
        }
    }

    /// Reports at intervals, also while a slow remote sends nothing: only so a client who has gone is found.
    ///
    /// - Returns: The outcome, and the last progress.
    private func download(
        _ paths: [String], _ report: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws -> (DownloadRequests.Outcome, DownloadProgress) {
        let last = Mutex(DownloadProgress())
        async let _: Void = {
            while (try? await Task.sleep(for: Self.reportInterval)) != nil {
                report(last.withLock(\.self))
            }
        }()
        let outcome = try await onEngine { () async throws(EngineError) in
            try await self.engine.downloads.download(try await self.inodes(of: paths)) { sums in
                last.withLock { $0 = DownloadProgress(sums) }
            }
        }
        return (outcome, last.withLock(\.self))
    }
}

extension DownloadProgress {
    fileprivate init(_ sums: PinSums) {
        self.init()
        files = sums.files
        bytes = sums.bytes
        filesMissing = sums.filesMissing
        bytesMissing = sums.bytesMissing
    }
}
