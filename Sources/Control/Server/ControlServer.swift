import CLinux
import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import SystemCalls

/// Serves a ``MountService`` as HTTP on a Unix socket; `docs/control-api.md` describes the API.
///
/// Only the daemon's own user and root have access: the socket has mode 0600, and the user of every
/// connection is checked before any of its bytes are read.
package struct ControlServer: DaemonServer {
    private let service: any MountService
    private let socketPath: String
    private let logger: Logger

    private let farewell: Duration

    /// - Parameters:
    ///   - socketPath: In a directory to which only this daemon writes, since an existing socket is
    ///     treated as that of a dead daemon. At most ``SocketPath/bytesMax`` bytes.
    ///   - farewell: How long streams may continue after the server is told to stop.
    package init(
        service: any MountService, socketPath: String, logger: Logger,
        farewell: Duration = .seconds(2)
    ) {
        self.service = service
        self.socketPath = socketPath
        self.logger = logger
        self.farewell = farewell
    }

    /// Serves until the calling task is cancelled; then accepts no more connections, gives current
    /// requests a moment, 2 seconds unless told otherwise, and removes the socket.
    ///
    /// - Parameter ready: Called once, when connections are accepted.
    /// - Throws: ``ControlError`` if the socket cannot be created.
    package func run(ready: @escaping @Sendable () -> Void) async throws(ControlError) {
        try SocketPath.check(socketPath)
        let failure = Mutex<ControlError?>(nil)
        let (stops, stop) = AsyncStream<Void>.makeStream()
        defer { stop.finish() }
        let application = Application(
            responder: Routes(service: service).responder(),
            server: .peerChecked(allowing: [geteuid(), 0]),
            configuration: .init(address: .unixDomainSocket(path: socketPath)),
            onServerRunning: { [socketPath] _ in
                if chmod(socketPath, 0o600) == 0 { return ready() }
                failure.withLock { $0 = cannotServe(errno) }
                stop.yield()
            },
            logger: quietLogger)
        var configuration = ServiceGroupConfiguration(
            services: [application], logger: quietLogger)
        configuration.maximumGracefulShutdownDuration = farewell
        let group = ServiceGroup(configuration: configuration)
        do {
            // Not child tasks: a cancellation has to reach the group as a graceful shutdown.
            Task { for await _ in stops { return await group.triggerGracefulShutdown() } }
            let serving = Task { try await group.run() }
            try await withTaskCancellationHandler {
                try await serving.value
            } onCancel: {
                stop.yield()
            }
        } catch is CancellationError {
            // Streams were ended after the farewell.
        } catch {
            logger.debug("control server failed", metadata: ["reason": "\(error)"])
            let number = (error as? IOError)?.errnoCode ?? EIO
            failure.withLock { $0 = $0 ?? cannotServe(number) }
        }
        unlink(socketPath)
        if let error = failure.withLock({ $0 }) { throw error }
    }

    private func cannotServe(_ errorNumber: Int32) -> ControlError {
        ControlError(
            .failed, what: "serve the control socket \(socketPath)",
            why: "\(SystemError(errorNumber))",
            remedy: "check that the state directory is on a local disk with free space")
    }

    /// Without Hummingbird's messages about each start and stop, which the daemon logs itself.
    private var quietLogger: Logger {
        var logger = logger
        if logger.logLevel == .info { logger.logLevel = .notice }
        return logger
    }
}
