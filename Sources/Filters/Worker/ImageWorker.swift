import Glibc
import SystemCalls

/// Filters pictures in a child process, one after the other; used by one thread.
///
/// A picture that ends the process costs itself only: the next one gets a new process. As damage to
/// a process may come from an earlier picture, a picture is blamed only if its process was new;
/// otherwise it is tried once more, in a new one.
final class ImageWorker {
    private let program: WorkerProgram
    private let filters: [Filter]
    private let quality: Int?
    private let limits: PictureLimits
    private let idleMax: Duration
    /// nil before the first picture, and after the end of a process.
    private var process: WorkerProcess?
    /// The end of the last picture.
    private var lastUse = ContinuousClock.now

    /// The time without a picture after which a process is replaced.
    ///
    /// Threads of libvips end after 15 s without work. Before 8.15.5, a picture that comes at that moment
    /// can be given to a thread that is ending: it then hangs, or the process crashes.
    static let defaultIdleMax: Duration = .seconds(10)

    init(
        _ program: WorkerProgram, filters: [Filter], quality: Int?, limits: PictureLimits,
        idleMax: Duration = defaultIdleMax
    ) {
        self.program = program
        self.filters = filters
        self.quality = quality
        self.limits = limits
        self.idleMax = idleMax
    }

    deinit {
        if let process = process.take() { process.end() }
    }

    /// The running process, between pictures.
    var processID: Int32? { process?.id }

    /// - Parameter bytes: A complete file.
    func render(_ bytes: [UInt8], as format: ImageFormat) throws(ImageError) -> [UInt8] {
        let request = WorkerRequest(
            filters: filters, quality: quality, format: format, byteCount: bytes.count,
            pixelsMax: limits.pixelsMax, secondsMax: limits.secondsMax)
        defer { lastUse = .now }
        while true {
            var worker = try takeProcess()
            let isNew = !worker.hasReplied
            switch worker.render(bytes, request: request, within: limits.deadline) {
            case .rendered(let new):
                process = consume worker
                return new
            case .failed(let error) where error.kind == .outOfMemory:
                worker.end()
                if isNew { throw error }
            case .failed(let error):
                process = consume worker
                throw error
            case .late:
                worker.end()
                throw .timedOut(limits)
            case .lost:
                let signal = worker.end()
                if signal == SIGXCPU { throw .timedOut(limits) }
                if isNew { throw .crashed(signal) }
            }
        }
    }

    /// Returns the process of the last picture, or a new one.
    private func takeProcess() throws(ImageError) -> WorkerProcess {
        if let process = process.take() {
            if .now - lastUse < idleMax { return process }
            process.end()
        }
        let worker: WorkerProcess
        do throws(SystemError) {
            worker = try WorkerProcess(program, limits: limits)
        } catch {
            throw ImageError(.failed, "the process that decodes it cannot be started: \(error)")
        }
        guard worker.awaitStart(within: limits.deadline) != nil else {
            worker.end()
            throw ImageError(
                .failed,
                "the process that decodes it does not start; install libvips again, or allow more "
                    + "memory with --max-memory")
        }
        return worker
    }
}
