import Control
import Engine
import Foundation
import Host
import ProviderSupport
import Providers

/// A mount that was asked for: by its source, or by its name in a configuration file.
struct MountRequest {
    let source: Source
    /// As it was given; absolute if it is from a configuration file.
    let mountPoint: String
    let settings: MountSettings
    /// Whether it is one of a configuration file.
    let isNamed: Bool

    /// - Parameters:
    ///   - text: A source, or the name of a mount.
    ///   - mountPoint: nil for that of the configuration file.
    ///   - settings: Those of the command line, which take precedence.
    /// - Throws: `CommandFailure` for a source that is misspelled, a name that no file has, and a wrong file.
    init(_ text: String, on mountPoint: String?, _ settings: MountSettings) throws {
        guard MountName.isName(text) else {
            source = try Self.source(text)
            self.mountPoint = mountPoint ?? ""
            self.settings = settings
            isNamed = false
            return
        }
        let mount = try Configuration.current().mount(named: text, to: "mount")
        source = mount.source
        self.mountPoint = mountPoint ?? mount.path
        self.settings = settings.completed(by: mount.settings)
        isNamed = true
    }

    private static func source(_ text: String) throws -> Source {
        do {
            return try Source(parsing: text)
        } catch {
            throw CommandFailure(
                what: "mount \(Source.withoutSecrets(text))", why: error.problem,
                remedy: error.remedy)
        }
    }

    /// Returns the options after all checks that are possible before the start.
    func options(isForeground: Bool) throws -> MountOptions {
        let table = try MountTable.current()
        let resolved = try MountChecks.mountPoint(mountPoint, in: table)
        let stateDirectory = try stateDirectory
        try MountChecks.separate(
            source: source, mountPoint: resolved, stateDirectory: stateDirectory, in: table)
        return MountOptions(
            source: source.description, mountPoint: resolved, stateDirectory: stateDirectory,
            cacheBytesMax: settings.cacheSize, keepFree: settings.keepFree ?? .standard,
            memory: settings.memory ?? .standard, isReadOnly: settings.readOnly ?? false,
            allowsExecution: settings.exec ?? true, bandwidth: settings.bandwidth,
            refresh: settings.refresh ?? .seconds(30),
            exclude: settings.exclude, scanners: settings.scanner + Self.scannersOfEnvironment,
            offline: settings.offline ?? .fail,
            allowsOthers: settings.allowOther ?? false,
            ownership: settings.ownership, containsSymlinks: settings.containSymlinks ?? true,
            caFile: try settings.caFile.map(MountChecks.readable),
            stopTimeout: settings.stopTimeout,
            webhook: try MountChecks.webhook(
                settings.webhook, tokenFile: settings.webhookTokenFile, source: source),
            logFormat: settings.logFormat ?? .text, logLevels: settings.logLevel,
            isForeground: isForeground)
    }

    /// Takes away a mount of the same name whose daemon has died, as a service that is started again has to:
    /// nothing in it can be used, and its changes are in the state.
    func removeDeadMount() async throws {
        guard isNamed, try ConfiguredMounts.isDead(self) else { return }
        try await DeadMount.remove(mountPoint)
    }

    /// Names of programs in `APUS_SCANNERS`, which are added to those of the option.
    private static var scannersOfEnvironment: [String] {
        (ProcessInfo.processInfo.environment["APUS_SCANNERS"] ?? "").split(separator: ":")
            .map(String.init)
    }

    /// The state belongs to the source, and is the same for another mount point.
    private var stateDirectory: String {
        get throws {
            guard let stateDir = settings.stateDir else {
                return try StateDirectory.defaultPath(
                    name: source.stateName, environment: ProcessInfo.processInfo.environment)
            }
            let path = Path.absolute(stateDir)
            guard !path.hasSuffix(StateDirectory.removalSuffix) else {
                throw CommandFailure(
                    what: "use the state directory \(path)",
                    why: "`apus forget` takes a directory with this name for a remainder",
                    remedy: "choose a name without \(StateDirectory.removalSuffix) at its end")
            }
            return path
        }
    }
}
