package import Engine
package import Logging
package import Transport

/// The environment in which sources are opened.
package struct SourceWorld: Sendable {
    /// The clock for latency, rates, deadlines and signatures.
    package var clock: any Clock
    /// The transport shared by the whole process.
    package var transport: HTTPTransport
    package var logger: Logger
    /// Receives notices for the user about an opened source: a sentence without a full stop.
    package var note: @Sendable (String) -> Void = { _ in }
    /// Receives the name of anything except the remote that is waited for while a source is opened:
    /// `credential_process of the profile "work"`; nil once the wait is over.
    package var waitsFor: @Sendable (String?) -> Void = { _ in }
    /// Registers work for the end of the process, as a `deinit` does not run then, whether or not
    /// the source could be opened. The work may take some seconds; the source is not used any more.
    package var atEnd: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void = { _ in }

    package init(clock: any Clock, transport: HTTPTransport, logger: Logger) {
        self.clock = clock
        self.transport = transport
        self.logger = logger
    }
}
