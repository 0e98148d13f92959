import Control
import Engine
import Host
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
                    largest: program.largest.map {
                        ProgramDownloads.File(path: $0.path, bytes: $0.bytes)
                    })
            })
    }

    func download(_ paths: [String]) -> AsyncThrowingStream<DownloadProgress, any Error> {
        stream { report in
            let clock = SystemClock()
            let next = Mutex(clock.uptime + Self.reportInterval)
            let last = Mutex(DownloadProgress())
            let outcome = try await self.onEngine { () async throws(EngineError) in
                try await self.engine.downloads.download(try await self.inodes(of: paths)) { sums in
                    let progress = DownloadProgress(sums)
                    last.withLock { $0 = progress }
                    let now = clock.uptime
                    let isDue = next.withLock { next in
                        let isDue = now >= next
                        if isDue { next = now + Self.reportInterval }
                        return isDue
                    }
                    if isDue { report(progress) }
                }
            }
            switch outcome {
            case .excess(let excess):
                throw ControlError(
                    .refused, what: "download",
                    why: "the files take \(HumanSize.format(excess.bytes)), and the cache has "
                        + HumanSize.format(excess.bytesMax),
                    remedy: "choose fewer files, or mount with a larger --cache-size")
            case .done(let failures):
                var progress = last.withLock(\.self)
                progress.failed = failures.map { .init($0) }
                progress.isDone = true
                report(progress)
            }
        }
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
