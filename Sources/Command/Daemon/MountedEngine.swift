import Control
import Engine
import Foundation
import Host
import Logging
import Mount
import ProviderSupport
import Providers
import Synchronization
import Transport

/// A mount: the engine with its state directory, a provider and a FUSE session.
final class MountedEngine: MountService {
    let options: MountOptions
    let engine: Engine
    let logger: Logger
    /// The time at which the folder became usable.
    let since = Mutex(Date())
    /// Sentences for the user about a source that was opened successfully.
    let notes: [String]
    /// How many bytes local copies may take.
    let cacheBytesMax: UInt64
    /// Receives the notifications of the store; nil if none are expected.
    let notifications: NotificationInbox?
    let session: FuseSession
    let transfers: DaemonTransfers
    let store: Store
    private let pools: DaemonPools
    /// Held during the life of this object.
    private let stateDirectory: StateDirectory

    /// Takes the state directory, opens the engine's database in it, and connects the source's
    /// provider.
    ///
    /// - Parameters:
    ///   - hooks: Receives work for the end of the process, even if this initialiser fails.
    ///   - waitsFor: See `ProviderEnvironment.waitsFor`.
    /// - Throws: `CommandFailure` for a source that is misspelled or cannot be reached, and for a
    ///   state directory that is in use or on a full disk.
    init(
        _ options: MountOptions, hooks: ShutdownHooks, logger: Logger,
        waitsFor: @escaping @Sendable (String?) -> Void
    ) async throws {
        self.options = options
        self.logger = logger
        notifications = options.webhook.map { _ in NotificationInbox() }
        let clock = SystemClock()
        do {
            let source = try Source(parsing: options.source)
            let directory = try StateDirectory(
                path: options.stateDirectory, mountPoint: options.mountPoint)
            stateDirectory = directory
            hooks.add { directory.removeIfNew() }
            let ballast = try PosixBallast(directory: options.stateDirectory)
            if !ballast.isSufficient { try MountChecks.room(in: options.stateDirectory) }
            try MountChecks.database(in: options.stateDirectory, boot: Boot.identifier)
            store = try Self.store(options, ballast)
            var pools: DaemonPools?
            do {
                transfers = DaemonTransfers(
                    transport: HTTPTransport(Self.transport(options, source: source)))
                try transfers.limit(to: options.bandwidth, keptIn: store)
                var world = Self.environment(options, clock, transfers, notifications)
                world.waitsFor = waitsFor
                world.atEnd = { hooks.add($0) }
                let opening = try SourceOpening(source, world, store: store)
                let disk = try PosixDisk(directory: options.stateDirectory)
                cacheBytesMax =
                    try options.cacheBytesMax
                    ?? CacheSize.standard(on: disk.space(), cachedBytes: store.presentBytes())
                var configuration = Self.configuration(options, source: source)
                configuration.cacheBytesMax = cacheBytesMax
                configuration.keepFreeBytes = try options.keepFree.bytes(of: disk.space())
                let started = try DaemonPools()
                (self.pools, pools) = (started, started)
                let makeEngine: @Sendable (any Provider) throws -> Engine = {
                    [configuration, store, transfers] provider in
                    try Engine(
                        configuration: configuration, store: store, disk: disk, clock: clock,
                        provider: transfers.wrapping(provider, of: source, clock: clock),
                        pools: started.forEngine, logger: LogLevels.Module.engine.logger,
                        random: { UInt64.random(in: .min ... .max) })
                }
                let (engine, opened) = try await opening.open(makeEngine)
                self.engine = engine
                notes = try opened.notes + Self.spaceNote(options.keepFree, on: disk.space())
                // Only now it is certain that the state belongs to this source.
                try opened.keep(in: store)
            } catch {
                await Self.end(pools, store)
                throw error
            }
        } catch {
            throw CommandFailure(mounting: options, error)
        }
        session = FuseSession(
            engine: engine, options: Self.mountOptions(options), executor: pools.requests,
            syncExecutor: pools.syncs, logger: LogLevels.Module.mount.logger)
    }

    private static func environment(
        _ options: MountOptions, _ clock: SystemClock, _ transfers: DaemonTransfers,
        _ notifications: NotificationInbox?
    ) -> ProviderEnvironment {
        var environment = ProviderEnvironment(
            clock: clock, transport: transfers.transport,
            logger: LogLevels.Module.provider.logger)
        environment.notifications = notifications
        environment.checkInterval = options.refresh
        return environment
    }

    private static func store(
        _ options: MountOptions, _ ballast: PosixBallast
    ) throws -> Store {
        let database = "\(options.stateDirectory)/\(StateDatabase.name)"
        return try Store(
            path: database, ballast: ballast, log: PosixDatabaseLog(ofDatabaseAt: database),
            cacheBytes: options.memory.databaseBytes)
    }

    private static func transport(_ options: MountOptions, source: Source) -> TransportOptions {
        var transport = TransportOptions()
        transport.caFile = options.caFile
        transport.logger = LogLevels.Module.transport.logger
        transport.requestsPerHost.start = source.requestsAtFirst
        transport.limitQueries(descriptorsMax: DescriptorLimit.raise())
        transport.limitRequests(bufferBytes: options.memory.transferBytes)
        transport.waitingBytesMax = Int(clamping: options.memory.waitingBytes)
        return transport
    }

    private static func mountOptions(_ options: MountOptions) -> Mount.MountOptions {
        var mountOptions = Mount.MountOptions(
            mountPoint: options.mountPoint,
            source: MountLabel(source: options.source, stateDirectory: options.stateDirectory)
                .text(userID: getuid()))
        mountOptions.isReadOnly = options.isReadOnly
        mountOptions.allowsExecution = options.allowsExecution
        mountOptions.threadsMax = options.memory.requestsMax
        mountOptions.allowsOthers = options.allowsOthers
        mountOptions.cachesSymlinks = !options.containsSymlinks
        mountOptions.form.ownership = options.ownership
        mountOptions.scanners = Scanners(and: options.scanners)
        return mountOptions
    }

    /// Returns the remark that local copies find no room; empty if they do.
    private static func spaceNote(_ keepFree: KeepFree, on space: StorageSpace) -> [String] {
        let bytes = keepFree.bytes(of: space)
        guard space.availableBytes < bytes else { return [] }
        return [
            "the disk with the state directory has \(HumanSize.format(space.availableBytes)) of free space, "
                + "less than the \(HumanSize.format(bytes)) of --keep-free: local copies are evicted "
                + "until there is more"
        ]
    }

    private static func configuration(
        _ options: MountOptions, source: Source
    ) -> EngineConfiguration {
        var configuration = EngineConfiguration(
            source: source.identity, owner: Caller(userID: geteuid(), groupID: getegid()),
            hostName: ProcessInfo.processInfo.hostName,
            controlSocket: "\(options.stateDirectory)/\(SocketPath.name)")
        configuration.isReadOnly = options.isReadOnly
        configuration.mountPoint = Array(options.mountPoint.utf8)
        configuration.containsSymlinks = options.containsSymlinks
        configuration.refreshInterval = options.refresh
        configuration.firstLookMax = .seconds(1)
        configuration.limitPiecesAhead(descriptorsMax: DescriptorLimit.raise())
        if let umask = options.ownership.umask {
            configuration.fileMode = 0o666 & ~UInt16(umask)
            configuration.directoryMode = 0o777 & ~UInt16(umask)
        }
        configuration.exclusions = Exclusions(options.exclude)
        configuration.offline = options.offline
        configuration.boot = Boot.identifier
        return configuration
    }

    /// Whether the kernel reads whole local files by itself.
    var lending: Lending { session.lending }

    // MARK: Serving

    /// Mounts, serves the kernel and the remote, and returns once the folder is unmounted: by
    /// ``unmountNow()``, through the control API, or with `fusermount3 -u`.
    ///
    /// - Parameter usable: Called once, when the folder is usable.
    /// - Throws: The reason why it could not be mounted or served.
    func run(usable: @escaping @Sendable () -> Void) async throws {
        let bare = BareMountPoint(options.mountPoint)
        // The daemon of an earlier mount may have died.
        bare?.release()
        do {
            try await onOwnThread { [session] in try session.mount() }
        } catch {
            await Self.end(pools, store)
            throw CommandFailure(mounting: options, error)
        }
        if bare?.protect(stateDirectory: options.stateDirectory) != true {
            logger.info("the directory beneath the mount is not protected")
        }
        since.withLock { $0 = Date() }
        stateDirectory.keep()
        keepBandwidth()
        usable()
        let session = session
        let work = Task(executorPreference: pools.transfers) { [engine] in await engine.run() }
        let network = NetworkWatch(logger) { [engine] in engine.refreshes.noteNetworkChange() }
        let notifier = DesktopNotifier(logger: logger).map { notifier in
            Task(executorPreference: pools.transfers) { await notifier.run(self) }
        }
        let served = await Result {
            try await onOwnThread(named: "apus-fuse") { try session.run() }
        }
        // Before the engine ends, which may take seconds: the mount is gone, by whichever command.
        bare?.release()
        network?.end()
        notifier?.cancel()
        work.cancel()
        await notifier?.value
        await work.value
        await Self.end(pools, store)
        do {
            try served.get()
        } catch {
            throw CommandFailure(mounting: options, error)
        }
    }

    /// Keeps a given bandwidth for later mounts.
    private func keepBandwidth() {
        guard let bandwidth = options.bandwidth else { return }
        do throws(EngineError) {
            try store.keep(.bandwidth, bandwidth.text)
        } catch {
            logger.warning("the bandwidth was not kept", metadata: ["reason": "\(error)"])
        }
    }

    /// Ends the threads, and closes the database, which removes its write-ahead log.
    private static func end(_ pools: DaemonPools?, _ store: Store) async {
        try? await onOwnThread {
            pools?.shutDown()
            store.close()
        }
    }

    /// Unmounts and leaves the changes queued; ``run(usable:)`` then returns, even if it is called
    /// later. May be called twice.
    func unmountNow() async {
        do {
            try await onOwnThread { [session] in try session.unmount() }
        } catch {
            logger.warning(
                "unmounting although it is in use", metadata: ["reason": "\(error)"])
            try? await onOwnThread { [session] in session.stop() }
        }
    }

    /// Unmounts if no program uses the folder.
    ///
    /// - Parameter isPatient: Whether to try again for a moment while it is in use.
    func unmountIfUnused(isPatient: Bool) async throws(ControlError) {
        do {
            try await onOwnThread { [session] in try session.unmount(isPatient: isPatient) }
        } catch let error as MountError {
            throw ControlError(
                .refused, what: "unmount \(options.mountPoint)", why: error.reason,
                remedy: error.remedy)
        } catch {
            throw ControlError(.failed, what: "unmount \(options.mountPoint)", why: "\(error)")
        }
    }

    /// Calls the engine on threads that may block.
    func onEngine<Value: Sendable>(
        _ call: @Sendable () async throws(EngineError) -> Value
    ) async throws(ControlError) -> Value {
        let result = await withTaskExecutorPreference(pools.upkeep) {
            await Result { () async throws(EngineError) in try await call() }
        }
        do throws(EngineError) {
            return try result.get()
        } catch {
            throw ControlError(error, naming: InodeNaming(engine).text)
        }
    }
}

extension Result where Failure: Error {
    /// The outcome of an asynchronous call.
    fileprivate init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

extension CommandFailure {
    /// The reason why a folder could not be mounted, or was not served to the end.
    fileprivate init(mounting options: MountOptions, _ error: any Error) {
        let what = "mount \(options.source) on \(options.mountPoint)"
        switch error {
        case let error as SourceError:
            self.init(what: what, why: error.problem, remedy: error.remedy)
        case let error as HostError:
            self.init(what: error.attempt, why: error.reason, remedy: error.remedy)
        case let error as MountError:
            self.init(what: what, why: error.reason, remedy: error.remedy)
        case let error as DiskError:
            self.init(
                what: error.attempt, why: error.reason,
                remedy: error.kind == .full
                    ? "free some space, or choose a folder on another disk with --state-dir" : nil)
        case let error as EngineError:
            self.init(what: what, why: error.attempt, remedy: error.remedy)
        default:
            self = CommandFailure(error) ?? CommandFailure(what: what, why: "\(error)")
        }
    }
}

extension ControlError {
    /// - Parameter naming: Replaces the numbers of inodes in a text by paths.
    init(_ error: EngineError, naming: (String) -> String = { $0 }) {
        let kind: Kind =
            switch error.kind {
            case .notFound, .notDirectory, .noConflict: .missing
            case .busy, .ambiguous: .refused
            case .invalid: .invalid
            default: .failed
            }
        self.init(kind, what: naming(error.attempt), why: error.kind.phrase, remedy: error.remedy)
    }
}
