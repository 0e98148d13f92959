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

/// A mount put together: the engine over its state directory, a provider, and a FUSE session.
final class EngineFolder: MountedFolder {
    let options: MountOptions
    let engine: Engine
    let logger: Logger
    /// When the folder became usable.
    let since = Mutex(Date())
    /// What the user is to know of a source that was opened all the same.
    let notes: [String]
    private let session: FuseSession
    private let executor: ThreadPoolExecutor
    private let store: Store
    /// Held for as long as the folder is.
    private let stateDirectory: StateDirectory

    /// Whether somebody has asked us to unmount.
    private let isEndWanted = Mutex(false)

    /// How many of the engine's tasks may wait for the disk at a time.
    private static let engineThreads = 8

    /// Takes the state directory, opens the engine's database in it, and connects the provider that
    /// the source names.
    ///
    /// - Parameters:
    ///   - endings: Takes what has to be done once the folder is done with, or could not be made.
    ///   - waitsFor: See `SourceWorld.waitsFor`.
    /// - Throws: `CommandFailure` for a source that is misspelled or cannot be reached, a state
    ///   directory that another mount holds or that has no room.
    init(
        _ options: MountOptions, endings: Endings, logger: Logger,
        waitsFor: @escaping @Sendable (String?) -> Void
    ) async throws {
        self.options = options
        self.logger = logger
        let clock = SystemClock()
        do {
            let source = try Source(parsing: options.source)
            stateDirectory = try StateDirectory(
                path: options.stateDirectory, mountPoint: options.mountPoint)
            let ballast = try PosixBallast(directory: options.stateDirectory)
            if !ballast.isSufficient { try MountChecks.room(in: options.stateDirectory) }
            try MountChecks.database(in: options.stateDirectory, boot: Boot.identifier)
            var transport = TransportOptions()
            transport.caFile = options.caFile
            let notes = Notes()
            var world = SourceWorld(
                clock: clock, transport: HTTPTransport(transport), logger: logger)
            world.note = { notes.add($0) }
            world.waitsFor = waitsFor
            world.atEnd = { endings.add($0) }
            let provider = try await source.connect(world)
            self.notes = notes.all
            store = try Store(
                path: "\(options.stateDirectory)/\(StateDatabase.name)", ballast: ballast)
            engine = try Engine(
                configuration: Self.configuration(options, source: source), store: store,
                disk: try PosixDisk(directory: options.stateDirectory), clock: clock,
                provider: provider, logger: logger, random: { UInt64.random(in: .min ... .max) })
            executor = try ThreadPoolExecutor(
                name: "apus-engine", threadCount: Self.engineThreads)
        } catch {
            throw CommandFailure(mounting: options, error)
        }
        var mountOptions = Mount.MountOptions(
            mountPoint: options.mountPoint, source: options.source)
        mountOptions.isReadOnly = options.isReadOnly
        mountOptions.allowsOthers = options.allowsOthers
        mountOptions.cachesSymlinks = !options.containsSymlinks
        session = FuseSession(
            engine: engine, options: mountOptions, executor: executor, logger: logger)
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
        configuration.boot = Boot.identifier
        if let bytes = options.cacheBytesMax { configuration.cacheBytesMax = bytes }
        return configuration
    }

    // MARK: Serving

    func run(usable: @escaping @Sendable () -> Void) async throws {
        let bare = BareMountPoint(options.mountPoint)
        // An earlier mount may have gone without notice.
        bare?.release()
        try await onOwnThread { [session, options] in
            do {
                try session.mount()
            } catch {
                throw CommandFailure(mounting: options, error)
            }
        }
        if bare?.protect(notingState: options.stateDirectory) == false {
            logger.info("the directory below the mount cannot be protected")
        }
        since.withLock { $0 = Date() }
        usable()
        let session = session
        let work = Task(executorPreference: executor) { [engine] in await engine.run() }
        let served = await Result { try await onOwnThread { try session.run() } }
        // Whoever took the mount away without asking us may leave programs behind that write on.
        if isEndWanted.withLock({ $0 }) { bare?.release() }
        work.cancel()
        await work.value
        try? await onOwnThread { [executor, store] in
            executor.shutDown()
            store.close()
        }
        do {
            try served.get()
        } catch {
            throw CommandFailure(mounting: options, error)
        }
    }

    func unmountNow() async {
        isEndWanted.withLock { $0 = true }
        do {
            try await onOwnThread { [session] in try session.unmount() }
        } catch {
            logger.warning(
                "unmounting although it is in use", metadata: ["reason": "\(error)"])
            try? await onOwnThread { [session] in session.stop() }
        }
    }

    /// Unmounts, if nobody uses the folder.
    func unmountIfUnused() async throws(ControlError) {
        do {
            isEndWanted.withLock { $0 = true }
            try await onOwnThread { [session] in try session.unmount() }
        } catch let error as MountError {
            isEndWanted.withLock { $0 = false }
            throw ControlError(
                .refused, what: "unmount \(options.mountPoint)", why: error.reason,
                remedy: error.remedy)
        } catch {
            throw ControlError(.failed, what: "unmount \(options.mountPoint)", why: "\(error)")
        }
    }

    /// Runs a question to the engine where it may block.
    func onEngine<Value: Sendable>(
        _ question: @Sendable () async throws(EngineError) -> Value
    ) async throws(ControlError) -> Value {
        let result = await withTaskExecutorPreference(executor) {
            await Result { () async throws(EngineError) in try await question() }
        }
        do throws(EngineError) {
            return try result.get()
        } catch {
            throw ControlError(error)
        }
    }
}

/// Sentences from whoever has one.
private final class Notes: Sendable {
    private let sentences = Mutex<[String]>([])

    var all: [String] { sentences.withLock { $0 } }

    func add(_ sentence: String) { sentences.withLock { $0.append(sentence) } }
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
    /// Why a folder could not be mounted, or was not served to the end.
    fileprivate init(mounting options: MountOptions, _ error: any Error) {
        let what = "mount \(options.source) on \(options.mountPoint)"
        switch error {
        case let error as CommandFailure:
            self = error
        case let error as SourceError:
            self.init(what: what, why: error.problem, remedy: error.remedy)
        case let error as StateDirectoryError:
            self.init(what: error.attempt, why: error.reason, remedy: error.remedy)
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
            self.init(what: what, why: "\(error)")
        }
    }
}

extension ControlError {
    init(_ error: EngineError) {
        let kind: Kind =
            switch error.kind {
            case .notFound, .notDirectory, .noConflict: .missing
            case .busy, .ambiguous: .refused
            case .invalid: .invalid
            default: .failed
            }
        self.init(kind, what: error.attempt, why: error.kind.phrase, remedy: error.remedy)
    }
}
