import Control
import Foundation
import Host
import Logging
import UnixSignals

/// Serves one mount until it is unmounted, in this process.
///
/// - Parameters:
///   - waitsFor: See `SourceWorld.waitsFor`.
///   - ready: Called once, when the folder and its control socket are usable, with what the user is to
///     know besides.
/// - Throws: What keeps the folder from being mounted, or ended it; it is in the log too.
func runDaemon(
    _ options: MountOptions, waitsFor: @escaping @Sendable (String?) -> Void,
    ready: @escaping @Sendable (_ notes: [String]) -> Void
) async throws {
    DaemonLog.bootstrap()
    let logger = Logger(label: "apus")
    // The mount outlives the terminal that it was started from, and keeps no directory busy.
    signal(SIGHUP, SIG_IGN)
    chdir("/")
    // Content files and connections need more than the usual soft limit of 1,024.
    logger.debug("limit of descriptors", metadata: ["count": "\(DescriptorLimit.raise())"])
    let endings = Endings()
    do {
        do {
            try await mountAndServe(
                options, endings: endings, logger: logger, waitsFor: waitsFor, ready: ready)
        } catch {
            await endings.run()
            throw error
        }
        await endings.run()
    } catch {
        let reason = CommandFailure(error)?.problem.description ?? "\(error)"
        logger.error("mount ended", metadata: ["reason": "\(reason)"])
        throw error
    }
    logger.info("unmounted", metadata: ["mountPoint": "\(options.mountPoint)"])
}

private func mountAndServe(
    _ options: MountOptions, endings: Endings, logger: Logger,
    waitsFor: @escaping @Sendable (String?) -> Void,
    ready: @escaping @Sendable (_ notes: [String]) -> Void
) async throws {
    // Trapped before anything is mounted: once something is, a signal means an orderly unmount.
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let folder = try await endingAtSignals(endings) {
        try await EngineFolder(options, endings: endings, logger: logger, waitsFor: waitsFor)
    }
    // Only now, since the folder holds the state directory: the log is no other daemon's.
    let logKeeper = options.isForeground ? nil : DaemonLog.keepShort(in: options.stateDirectory)
    defer { logKeeper?.cancel() }
    logger.info(
        "mounting",
        metadata: ["source": "\(options.source)", "mountPoint": "\(options.mountPoint)"])
    let notes = folder.notes
    for note in notes { logger.notice("mounting", metadata: ["note": "\(note)"]) }
    try await serve(
        folder, socketPath: "\(options.stateDirectory)/\(SocketPath.name)", signals: signals,
        logger: logger, ready: { ready(notes) })
}

/// Runs what comes before there is anything to unmount; a signal ends the process meanwhile.
private func endingAtSignals<Value: Sendable>(
    _ endings: Endings, _ start: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask {
            for await signal in signals {
                await endings.run()
                // What has begun may take long to notice that nobody wants it any more.
                _exit(128 + signal.rawValue)
            }
            return nil
        }
        group.addTask { try await start() }
        defer { group.cancelAll() }
        while let value = try await group.next() {
            if let value { return value }
        }
        throw CancellationError()
    }
}

/// Runs the folder, its control socket and the ear for signals side by side, until the folder is
/// unmounted.
private func serve(
    _ folder: any MountedFolder, socketPath: String, signals: UnixSignalsSequence,
    logger: Logger, ready: @escaping @Sendable () -> Void
) async throws {
    let server = ControlServer(service: folder, socketPath: socketPath, logger: logger)
    let (listening, isListening) = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { isListening.finish() }
            try await server.run { isListening.yield() }
        }
        group.addTask {
            for await signal in signals {
                logger.info("unmounting at a signal", metadata: ["signal": "\(signal)"])
                await folder.unmountNow()
            }
        }
        // The mount names the socket to whoever asks, so the socket comes first. If it does not
        // come, the wait below says why.
        if await listening.first(where: { _ in true }) != nil {
            group.addTask {
                try await folder.run(usable: ready)
                throw FolderEnded()
            }
        }
        do {
            // The first end of one is the end of all.
            try await group.next()
        } catch {
            // Whichever failed, the folder is unmounted before the daemon ends.
            await folder.unmountNow()
            group.cancelAll()
            guard error is FolderEnded else { throw error }
        }
    }
}

/// The folder was unmounted in good order, and nothing else has to go on.
private struct FolderEnded: Error {}
