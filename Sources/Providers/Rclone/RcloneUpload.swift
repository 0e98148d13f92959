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
            tasks.addTask {
                await report(group)
                return nil
            }
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
        var input = RcloneInput()
        input.srcFs = file.directory
        input.srcRemote = file.name
        input.dstFs = remote.fileSystem
        input.dstRemote = path
        try await client.change("operations/copyfile", input, group: group)
    }

    /// Reports progress to the session until the task is cancelled.
    private func report(_ group: String) async {
        var last: UInt64 = 0
        session.noteSent(0)
        var input = RcloneInput()
        input.group = group
        while true {
            do {
                try await client.clock.sleep(until: client.clock.uptime + Self.reportEvery)
                let stats: RcloneStats = try await client.call("core/stats", input)
                let sent = min(size, UInt64(max(0, stats.bytes ?? 0)))
                guard sent > last else { continue }
                last = sent
                session.noteSent(sent)
            } catch {
                if Task.isCancelled { return }
            }
        }
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
