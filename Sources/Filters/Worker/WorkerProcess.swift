import Glibc
import SystemCalls

/// One running worker; used and ended by the thread that started it.
struct WorkerProcess: ~Copyable {
    enum Outcome {
        case rendered([UInt8])
        /// The worker reports an error.
        case failed(ImageError)
        /// The deadline passed without a reply; the worker must be ended.
        case late
        /// The worker is dead, or does not keep to the protocol; it must be ended.
        case lost
    }

    let id: Int32
    private let socket: Descriptor
    private let outputBytesMax: Int
    /// Whether it has replied to a request before.
    private(set) var hasReplied = false

    init(_ program: WorkerProgram, limits: PictureLimits) throws(SystemError) {
        (id, socket) = try program.start()
        // A worker builds the file in memory; a TIFF file has at most 4 GiB.
        outputBytesMax = Int(min(limits.memoryBytesMax, UInt64(UInt32.max)))
    }

    private var channel: WorkerChannel { WorkerChannel(descriptor: socket.rawValue) }

    /// Waits for the worker's first message.
    ///
    /// - Returns: The version of libvips; nil if it did not start, and must be ended.
    borrowing func awaitStart(within limit: Duration) -> String? {
        let reply = try? channel.receive(WorkerReply.self, until: .now + limit)
        guard case .ready(let version) = reply else { return nil }
        return version
    }

    /// Has one picture filtered.
    mutating func render(
        _ bytes: [UInt8], request: WorkerRequest, within limit: Duration
    ) -> Outcome {
        do throws(WorkerChannel.Failure) {
            let deadline = ContinuousClock.now + limit
            try channel.send(request, until: deadline)
            try channel.send(bytes, until: deadline)
            let reply = try channel.receive(WorkerReply.self, until: deadline)
            hasReplied = true
            switch reply {
            case .ready: return .lost
            case .failed(let error): return .failed(error.printable)
            case .rendered(let count):
                guard (1...outputBytesMax).contains(count) else { return .lost }
                // The picture is done, so the transfer has a deadline of its own.
                let new = try channel.receive(count: count, until: .now + limit)
                return ImageFormat(signature: new) == request.format ? .rendered(new) : .lost
            }
        } catch {
            return error == .deadlinePassed ? .late : .lost
        }
    }

    /// Kills the process.
    ///
    /// - Returns: The signal that ended it: not SIGKILL if it was dying of another; nil if it exited.
    @discardableResult
    consuming func end() -> Int32? {
        kill(id, SIGKILL)
        let signal = ChildProgram.awaitEnd(of: id) & 0x7F
        return signal == 0 ? nil : signal
    }
}
