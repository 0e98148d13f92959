package import Engine
package import Logging
package import Transport

/// What every source is opened with.
package struct SourceWorld: Sendable {
    /// What latency, rates, deadlines and signatures are reckoned with.
    package var clock: any Clock
    /// The process's one transport.
    package var transport: HTTPTransport
    package var logger: Logger
    /// Takes what the user is told beside the success: a sentence without a full stop.
    package var note: @Sendable (String) -> Void = { _ in }
    /// Is told what is waited for while a source is opened, where that is not the remote itself:
    /// `credential_process of the profile "work"`; nil once it is over.
    package var waitsFor: @Sendable (String?) -> Void = { _ in }
    /// Takes what has to be done before the process ends, whether or not the source could be opened:
    /// an object's `deinit` does not come then. It may wait for some seconds, and nobody uses the
    /// source any more.
    package var atEnd: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void = { _ in }

    package init(clock: any Clock, transport: HTTPTransport, logger: Logger) {
        self.clock = clock
        self.transport = transport
        self.logger = logger
    }
}
