import Engine
import Foundation
import Logging
import ProviderSupport
import SystemCalls

extension RcloneProvider {
    /// The time that rclone has until it listens.
    private static let startMax: Duration = .seconds(30)

    /// Starts rclone and opens the remote.
    static func connect(
        _ fileSystem: String, world: ProviderEnvironment,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws(SourceError) -> RcloneProvider {
        let program = try RcloneProgram.find(in: environment)
        let directory: RcloneDirectory
        let pool: BlockingPool
        do {
            directory = try RcloneDirectory(in: environment["TMPDIR"] ?? "/var/tmp")
            pool = try BlockingPool(name: "apus-spool", threads: 2)
        } catch {
            throw SourceError(
                .unavailable, "cannot prepare for rclone: \(error)",
                remedy: "set TMPDIR to a directory with room", cause: error)
        }
        let daemon = RcloneDaemon(program, directory: directory, logger: world.logger)
        world.atEnd { daemon.end() }
        let client = RcloneClient(daemon: daemon, transport: world.transport, clock: world.clock)
        client.followBandwidth()
        try await awaitStart(of: client)
        return try await open(
            fileSystem, client, spool: RcloneSpool(directory: directory, pool: pool),
            logger: world.logger)
    }

    /// Opens a remote with an rclone that is already running.
    static func open(
        _ fileSystem: String, _ client: RcloneClient, spool: RcloneSpool, logger: Logger
    ) async throws(SourceError) -> RcloneProvider {
        RcloneProvider(
            RcloneRemote(
                client: client, fileSystem: fileSystem,
                opened: try await opened(fileSystem, client)),
            spool: spool, logger: logger)
    }

    private static func awaitStart(of client: RcloneClient) async throws(SourceError) {
        let clock = client.clock
        let due = clock.uptime + startMax
        while true {
            if let found = try? await version(client) {
                guard found < .oldest else { return }
                throw SourceError(
                    .unavailable, "rclone \(found) is too old",
                    remedy: "install \(RcloneVersion.oldest) or later, see \(RcloneProgram.home)")
            }
            // It has ended, or is not listening yet.
            let words = client.daemon.keeper.lastWords
            guard words == nil, clock.uptime < due else {
                throw SourceError(
                    .unavailable, "rclone does not start: \(words ?? "it is not listening")",
                    remedy: "try `rclone version`; \(RcloneVersion.oldest) or later is needed")
            }
            do {
                try await clock.sleep(until: clock.uptime + .milliseconds(10))
            } catch {
                throw SourceError(
                    .unavailable, "the start of rclone was cancelled", remedy: "try again")
            }
        }
    }

    private static func version(
        _ client: RcloneClient
    ) async throws(ProviderError) -> RcloneVersion {
        let found: RcloneCoreVersion = try await client.call("core/version", RcloneInput())
        return RcloneVersion(numbers: found.decomposed)
    }

    private static func opened(
        _ fileSystem: String, _ client: RcloneClient
    ) async throws(SourceError) -> RcloneFileSystem {
        var input = RcloneInput(fs: fileSystem)
        do throws(ProviderError) {
            let opened: RcloneFileSystem = try await client.call("operations/fsinfo", input)
            // Some remotes open any path, and only a listing shows that it does not exist.
            input.remote = ""
            input.opt = RcloneInput.Options()
            let _: RcloneList = try await client.call("operations/list", input)
            return opened
        } catch {
            throw SourceError(
                .unavailable, "cannot open \"\(fileSystem)\": \(error.reason)",
                remedy: "try `rclone lsf \"\(fileSystem)\"`", cause: error)
        }
    }
}
