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
    /// Receives the thing waited for while a source is opened, unless it is the remote itself:
    /// `credential_process of the profile "work"`; nil once the wait is over.
    package var waitsFor: @Sendable (String?) -> Void = { _ in }
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
    /// Logs that the store takes different names for one.
    package func noteNames(_ names: NameMatching) {
        guard names.isFolding else { return }
        logger.warning(
            "the remote takes different names for one", metadata: ["names": "\(names.rawValue)"])
    }
}
