package import Engine
package import Logging
package import Transport

/// The services of the process that a source is opened with.
package struct ProviderEnvironment: Sendable {
    /// The clock for latency, rates, deadlines and signatures.
    package var clock: any Clock
    /// The process's only transport.
    package var transport: HTTPTransport
    package var logger: Logger
    /// Receives remarks for the user about a source that was opened: sentences without a full stop.
    package var note: @Sendable (String) -> Void = { _ in }
    /// The names that the store takes for one, as an earlier mount has found out.
    package var knownNames: NameMatching?
    /// Receives them if this mount finds them out.
    package var foundNames: @Sendable (NameMatching) -> Void = { _ in }
    /// The identity of the source's root, if an earlier mount has found one out.
    package var knownRoot: String?
    /// Receives it if the store tells its root from another one in the same place.
    package var foundRoot: @Sendable (String) -> Void = { _ in }
    /// Receives the notifications that the store sends; nil if none are expected.
    package var notifications: NotificationInbox?
    /// The interval of checks for changes, on stores where one request suffices.
    package var checkInterval: Duration = .seconds(30)
    /// Receives the thing waited for while a source is opened, unless it is the remote itself:
    /// `credential_process of the profile "work"`; nil once the wait is over.
    package var waitsFor: @Sendable (String?) -> Void = { _ in }
    /// Whether a property of the source's root may be set and removed, to find out whether the server keeps it.
    package var mayTryProperties = true
    /// Remembers secrets while the source is opened again and again.
    package var secrets = SecretMemory()
    /// Registers work to do before the process ends, whether or not the source could be opened, since
    /// objects are not deinitialised then. It may take some seconds, and runs once the source is no
    /// longer in use.
    package var atEnd: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void = { _ in }

    package init(clock: any Clock, transport: HTTPTransport, logger: Logger) {
        self.clock = clock
        self.transport = transport
        self.logger = logger
    }
}

extension ProviderEnvironment {
    /// How long the look for other spellings may hold up a mount.
    private static var lookMax: Duration { .seconds(5) }

    /// Returns the names that a store takes for one. Logs if there are any.
    ///
    /// - Parameters:
    ///   - stated: Stated by the user.
    ///   - looksAgain: Whether to look although an earlier mount has found them out.
    package func names(
        of provider: any Provider, stated: NameMatching?, looksAgain: Bool = false
    ) async -> NameMatching {
        let names = await matching(of: provider, stated: stated, looksAgain: looksAgain)
        if names.isFolding {
            logger.warning(
                "the remote takes different names for one",
                metadata: ["names": "\(names.rawValue)"])
        }
        return names
    }

    private func matching(
        of provider: any Provider, stated: NameMatching?, looksAgain: Bool
    ) async -> NameMatching {
        if let stated { return stated }
        if provider.traits.names.isFolding { return provider.traits.names }
        if let knownNames, !looksAgain { return knownNames }
        let found = await NameProbe(provider).verdict(within: Self.lookMax, on: clock)
        if let found, found.isProven {
            foundNames(found.matching)
            return found.matching
        }
        // A look that fails must not make two names of one object different ones.
        return knownNames ?? found?.matching ?? .exact
    }
}
