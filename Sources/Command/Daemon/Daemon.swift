import Control
import Engine
import Foundation
import Host
import Logging
import UnixSignals

/// Serves one mount until it is unmounted, in this process.
///
/// - Parameters:
///   - waitsFor: See `ProviderEnvironment.waitsFor`.
///   - ready: Called once, when the folder and its control socket are usable, with notes for the
///     user.
/// - Throws: The reason why the folder could not be mounted or served, which is also logged.
func runDaemon(
    _ options: MountOptions, waitsFor: @escaping @Sendable (String?) -> Void,
    ready: @escaping @Sendable (_ notes: [String]) -> Void
) async throws {
    let log = DaemonLog.bootstrap(options.logFormat, options.logLevels)
    defer { log.drain() }
    let logger = LogLevels.Module.daemon.logger
    // The mount outlives its terminal and keeps no directory busy.
    signal(SIGHUP, SIG_IGN)
    // See `DiskFile.isOpenElsewhere`.
    signal(SIGIO, SIG_IGN)
    chdir("/")
    DatabaseFiles.register()
    // Content files and connections need more than the usual soft limit of 1,024. Nothing here may
    // depend on the log's level.
    let descriptorsMax = DescriptorLimit.raise()
    logger.debug("limit of descriptors", metadata: ["count": "\(descriptorsMax)"])
    let hooks = ShutdownHooks()
    let manager = ServiceManager.takenFromEnvironment(isOurs: options.isForeground)
    do {
        do {
            try requireDescriptors(descriptorsMax, options)
            try await mountAndServe(
                options, manager, hooks: hooks, log: log, logger: logger, waitsFor: waitsFor,
                ready: ready)
        } catch {
            await hooks.run()
            throw error
        }
        await hooks.run()
    } catch {
        let reason = CommandFailure(error)?.problem.description ?? "\(error)"
        logger.error("mount ended", metadata: ["reason": "\(reason)"])
        throw error
    }
    logger.info("unmounted", metadata: ["mountPoint": "\(options.mountPoint)"])
}

/// With fewer descriptors, no bound on those in use would leave enough for the others.
private let descriptorsMin = 128

private func requireDescriptors(_ count: UInt64, _ options: MountOptions) throws {
    if count >= descriptorsMin { return }
    throw CommandFailure(
        what: "mount \(options.source) on \(options.mountPoint)",
        why: "the daemon may have only \(count) files open at once, and needs \(descriptorsMin)",
        remedy: "raise the hard limit (ulimit -Hn 4096, or LimitNOFILE of the service)")
}

private func mountAndServe(
    _ options: MountOptions, _ manager: ServiceManager, hooks: ShutdownHooks,
    log: DaemonLogOutput, logger: Logger,
    waitsFor: @escaping @Sendable (String?) -> Void,
    ready: @escaping @Sendable (_ notes: [String]) -> Void
) async throws {
    // Trapped before the mount exists; from then on, a signal means an orderly unmount.
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let folder = try await endingAtSignals(hooks) {
        try await MountedEngine(options, hooks: hooks, logger: logger) { command in
            manager.status("Waiting for \(command ?? "the remote")")
            waitsFor(command)
        }
    }
    log.name(by: InodeNaming(folder.engine).text)
    // The folder holds the state directory by now, so the log is not another daemon's.
    let logKeeper = options.isForeground ? nil : DaemonLog.keepShort(in: options.stateDirectory)
    defer { logKeeper?.cancel() }
    logger.info(
        "mounting",
        metadata: ["source": "\(options.source)", "mountPoint": "\(options.mountPoint)"])
    let notes = folder.notes
    for note in notes { logger.notice("mounting", metadata: ["note": "\(note)"]) }
    let control = ControlServer(
        service: folder, socketPath: "\(options.stateDirectory)/\(SocketPath.name)",
        logger: LogLevels.Module.control.logger)
    let servers: [(any DaemonServer)?] = [control, folder.webhook]
    try await serve(
        folder, by: servers.compactMap(\.self), manager, signals: signals, logger: logger
    ) {
        manager.ready()
        ready(notes)
    }
}

/// Runs the steps before the mount, during which a signal ends the process.
private func endingAtSignals<Value: Sendable>(
    _ hooks: ShutdownHooks, _ start: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask {
            for await signal in signals {
                await hooks.run()
                // The steps may take long to notice a cancellation.
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

/// Runs the folder, its servers and the signal handling side by side until the folder is unmounted.
private func serve(
    _ folder: MountedEngine, by servers: [any DaemonServer], _ manager: ServiceManager,
    signals: UnixSignalsSequence, logger: Logger, ready: @escaping @Sendable () -> Void
) async throws {
    let (usable, isUsable) = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
        // They come first, since the mount reports the path of the control socket. If one fails, `next()`
        // below throws the reason.
        var isListening = true
        for server in servers where isListening {
            let (listening, listens) = AsyncStream<Void>.makeStream()
            group.addTask {
                defer { listens.finish() }
                try await server.run { listens.yield() }
            }
            isListening = await listening.first(where: { _ in true }) != nil
        }
        group.addTask { await unmount(folder, at: signals, manager, logger) }
        if manager.isPresent {
            group.addTask {
                for await _ in usable {}
                await folder.reportStatus(to: manager)
            }
        }
        if isListening {
            group.addTask {
                try await folder.run {
                    ready()
                    isUsable.finish()
                }
                throw FolderEnded()
            }
        }
        do {
            // All of them end with the first.
            try await group.next()
        } catch {
            // The folder is unmounted before the daemon ends, after any failure.
            await folder.unmountNow()
            group.cancelAll()
            guard error is FolderEnded else { throw error }
        }
    }
}

/// Unmounts at the first signal, after uploads if there is a time for them, and at the second one at once.
private func unmount(
    _ folder: MountedEngine, at signals: UnixSignalsSequence, _ manager: ServiceManager,
    _ logger: Logger
) async {
    let limit =
        folder.options.stopTimeout ?? (manager.isPresent ? ServiceManager.stopTimeout : .zero)
    await withTaskGroup { group in
        var isFirst = true
        for await signal in signals {
            logger.info("unmounting at a signal", metadata: ["signal": "\(signal)"])
            if isFirst, limit > .zero {
                group.addTask { await folder.unmount(uploadingFor: limit, manager) }
            } else {
                group.cancelAll()
                await folder.unmountNow()
            }
            isFirst = false
        }
        group.cancelAll()
    }
}

/// The folder was unmounted without failure.
private struct FolderEnded: Error {}
