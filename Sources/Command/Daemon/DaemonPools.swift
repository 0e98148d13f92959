import Engine
import Host

/// The threads of a mount's work, a pool for each kind of it: a disk that is slow for one kind leaves
/// the threads of the others free.
struct DaemonPools: Sendable {
    /// Continues the kernel's requests after a wait for the network.
    let requests: ThreadPoolExecutor
    /// Requests of the kernel that wait for the disk, if many do.
    let syncs: ThreadPoolExecutor
    /// Uploads, downloads and listings.
    let transfers: ThreadPoolExecutor
    /// See `WorkPools.content`. It computes, so it has few threads.
    let content: ThreadPoolExecutor
    /// See `WorkPools.upkeep`; also calls of the control API.
    let upkeep: ThreadPoolExecutor
    /// See `WorkPools.watch`.
    let watch: ThreadPoolExecutor

    init() throws(HostError) {
        var started: [ThreadPoolExecutor] = []
        func pool(_ name: String, _ threadCount: Int) throws(HostError) -> ThreadPoolExecutor {
            let pool = try ThreadPoolExecutor(name: "apus-\(name)", threadCount: threadCount)
            started.append(pool)
            return pool
        }
        do {
            requests = try pool("request", 8)
            syncs = try pool("sync", 4)
            transfers = try pool("transfer", 8)
            content = try pool("content", 2)
            upkeep = try pool("upkeep", 8)
            watch = try pool("watch", 2)
        } catch {
            for pool in started { pool.shutDown() }
            throw error
        }
    }

    var forEngine: WorkPools { WorkPools(content: content, upkeep: upkeep, watch: watch) }

    /// Ends all threads; see ``ThreadPoolExecutor/shutDown()``.
    func shutDown() {
        for pool in [requests, syncs, transfers, content, upkeep, watch] { pool.shutDown() }
    }
}
