import Control
import Foundation
import Logging
import UnixSignals

/// Serves one mount until it is unmounted, in this process.
///
/// - Parameter ready: Called once, when the folder and its control socket are usable.
/// - Throws: `CommandFailure` with what keeps the folder from being mounted, or ended it.
func runDaemon(_ options: MountOptions, ready: @escaping @Sendable () -> Void) async throws {
    DaemonLog.bootstrap()
    let logger = Logger(label: "apus")
    // The mount outlives the terminal that it was started from, and keeps no directory busy.
    signal(SIGHUP, SIG_IGN)
    chdir("/")
    let folder = try await EngineFolder(options, logger: logger)
    if !options.isForeground { DaemonLog.rotate(in: options.stateDirectory) }
    logger.info(
        "mounting",
        metadata: ["source": "\(options.source)", "mountPoint": "\(options.mountPoint)"])
    do {
        try await serve(folder, options: options, logger: logger, ready: ready)
    } catch {
        logger.error("mount ended", metadata: ["reason": "\(error)"])
        throw error
    }
    logger.info("unmounted", metadata: ["mountPoint": "\(options.mountPoint)"])
}

/// Runs the folder, its control socket and the ear for signals side by side, until the folder is
/// unmounted.
private func serve(
    _ folder: any MountedFolder, options: MountOptions, logger: Logger,
    ready: @escaping @Sendable () -> Void
) async throws {
    let server = ControlServer(
        service: folder, socketPath: "\(options.stateDirectory)/\(SocketPath.name)",
        logger: logger)
    // Trapped before anything is mounted: from here on a signal means an orderly unmount.
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let (listening, isListening) = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { isListening.finish() }
            try await server.run { isListening.finish() }
        }
        group.addTask {
            for await signal in signals {
                logger.info("unmounting at a signal", metadata: ["signal": "\(signal)"])
                await folder.unmountNow()
            }
        }
        // The mount names the socket to whoever asks, so the socket comes first.
        for await _ in listening {}
        group.addTask {
            try await folder.run(usable: ready)
            throw FolderEnded()
        }
        do {
            try await group.waitForAll()
        } catch {
            // Whichever failed first, the folder is unmounted before the daemon ends.
            await folder.unmountNow()
            group.cancelAll()
            guard error is FolderEnded else { throw error }
        }
    }
}

/// The folder was unmounted in good order, and nothing else has to go on.
private struct FolderEnded: Error {}
