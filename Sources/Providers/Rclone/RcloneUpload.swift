import Engine

/// One file on its way from this machine to the remote.
struct RcloneUpload: Sendable {
    let remote: RcloneRemote
    let file: RcloneSpool.File
    let size: UInt64
    let session: any UploadSession

    private static let reportEvery: Duration = .seconds(1)

    private var client: RcloneClient { remote.client }

    func run(to path: String) async throws(ProviderError) {
        let group = RcloneClient.newGroup()
        let result = await withTaskGroup(of: Result<Void, ProviderError>?.self) { tasks in
            tasks.addTask {
                do throws(ProviderError) {
                    return .success(try await copy(to: path, group))
                } catch {
                    return .failure(error)
                }
            }
            tasks.addTask { await report(group).map { .failure($0) } }
            defer { tasks.cancelAll() }
            while let end = await tasks.next() {
                if let end { return end }
            }
            return .success(())
        }
        try result.get()
        session.noteSent(size)
    }

    private func copy(to path: String, _ group: String) async throws(ProviderError) {
        let input = RcloneInput(
            srcFs: file.directory, srcRemote: file.name, dstFs: remote.fileSystem, dstRemote: path)
        try await client.change("operations/copyfile", input, group: group, within: nil)
    }

    /// Reports progress to the session until the task is cancelled or the upload has stalled.
    ///
    /// - Returns: The failure of a stalled upload.
    private func report(_ group: String) async -> ProviderError? {
        var watch = RcloneStallWatch(size: size, at: client.clock.uptime)
        session.noteSent(0)
        let input = RcloneInput(group: group)
        while !watch.isStalled(at: client.clock.uptime) {
            do {
                try await client.clock.sleep(until: client.clock.uptime + Self.reportEvery)
                let stats: RcloneStats = try await client.call(
                    "core/stats", input, within: RcloneStallWatch.stallMax)
                let sent = UInt64(max(0, stats.bytes ?? 0))
                if watch.note(sent, at: client.clock.uptime) { session.noteSent(watch.sent) }
            } catch {
                if Task.isCancelled { return nil }
            }
        }
        return ProviderError(.unreachable, "rclone sends nothing")
    }

    /// Creates an empty file, or replaces one.
    static func makeEmpty(
        _ path: String, on remote: RcloneRemote, _ spool: RcloneSpool
    ) async throws(ProviderError) {
        let file = try await spool.copy(NoBytes(), modified: remote.client.clock.wallTime)
        defer { file.remove() }
        let upload = RcloneUpload(remote: remote, file: file, size: 0, session: UntrackedUpload())
        try await upload.run(to: path)
    }
}

private struct NoBytes: ByteSource {
    let size: UInt64 = 0

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int { 0 }
}

/// Decides whether an upload has stalled, without clock or I/O: time is an argument.
struct RcloneStallWatch {
    /// The longest time without a byte.
    static let stallMax: Duration = .seconds(30)
    /// The longest time after the last byte, in which the remote may have to assemble the file.
    static let finishMax: Duration = .seconds(600)

    private let size: UInt64
    private(set) var sent: UInt64 = 0
    private var lastProgress: Duration

    init(size: UInt64, at now: Duration) {
        self.size = size
        lastProgress = now
    }

    /// - Parameter bytes: The bytes sent so far; rclone may count some of them twice.
    /// - Returns: Whether ``sent`` has grown.
    mutating func note(_ bytes: UInt64, at now: Duration) -> Bool {
        guard min(bytes, size) > sent else { return false }
        sent = min(bytes, size)
        lastProgress = now
        return true
    }

    func isStalled(at now: Duration) -> Bool {
        now - lastProgress >= (sent < size ? Self.stallMax : Self.finishMax)
    }
}
