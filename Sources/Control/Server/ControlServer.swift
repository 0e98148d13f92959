import CLinux
import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// Serves a ``MountService`` as HTTP on a Unix socket; `docs/control-api.md` describes the API.
///
/// Only the daemon's own user and root get an answer: the socket is mode 0600, and every
/// connection's other end is asked for its user before a byte of it is read.
package struct ControlServer: Sendable {
    private let service: any MountService
    private let socketPath: String
    private let logger: Logger

    /// How long streams may go on once the server is to end.
    private static let farewell: Duration = .seconds(2)

    /// - Parameter socketPath: In a directory that only this daemon writes to, since a socket that
    ///   is there already is taken for the leftover of a dead one. At most
    ///   ``SocketPath/bytesMax`` bytes.
    package init(service: any MountService, socketPath: String, logger: Logger) {
        self.service = service
        self.socketPath = socketPath
        self.logger = logger
    }

    /// Serves until the calling task is cancelled; then takes no more connections, lets requests
    /// end for up to 2 seconds, and removes the socket.
    ///
    /// - Parameter ready: Called once, when connections are taken.
    /// - Throws: ``ControlError`` if the socket cannot be made.
    package func run(ready: @escaping @Sendable () -> Void) async throws(ControlError) {
        try SocketPath.check(socketPath)
        let failure = Mutex<ControlError?>(nil)
        let stop = StopSignal()
        let application = Application(
            responder: Routes(service: service).responder(),
            server: .peerChecked(allowing: [geteuid(), 0]),
            configuration: .init(address: .unixDomainSocket(path: socketPath)),
            onServerRunning: { [socketPath] _ in
                if chmod(socketPath, 0o600) == 0 { return ready() }
                failure.withLock { $0 = cannotServe(errno) }
                stop.call()
            },
            logger: quietLogger)
        var configuration = ServiceGroupConfiguration(
            services: [application], logger: quietLogger)
        configuration.maximumGracefulShutdownDuration = Self.farewell
        let group = ServiceGroup(configuration: configuration)
        stop.arm { await group.triggerGracefulShutdown() }
        do {
            // No child task, since a cancellation is to reach the group as a graceful shutdown.
            let serving = Task { try await group.run() }
            try await withTaskCancellationHandler {
                try await serving.value
            } onCancel: {
                stop.call()
            }
        } catch is CancellationError {
            // Streams were cut off after their two seconds.
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
            why: String(cString: strerror(errorNumber)),
            remedy: "check that the state directory is on a local disk with free space")
    }

    /// Hummingbird tells of each start and stop what the daemon says itself.
    private var quietLogger: Logger {
        var logger = logger
        if logger.logLevel == .info { logger.logLevel = .notice }
        return logger
    }
}

/// Stops the server once, whether it is asked to before or after it knows how.
private final class StopSignal: Sendable {
    private struct State {
        var isCalled = false
        var action: (@Sendable () async -> Void)?
    }

    private let state = Mutex(State())

    func arm(_ action: @escaping @Sendable () async -> Void) {
        let isCalled = state.withLock { state in
            state.action = action
            return state.isCalled
        }
        if isCalled { perform(action) }
    }

    func call() {
        let action = state.withLock { state in
            defer { state.isCalled = true }
            return state.isCalled ? nil : state.action
        }
        if let action { perform(action) }
    }

    /// Not a child of any task: the one that asks is being cancelled.
    private func perform(_ action: @escaping @Sendable () async -> Void) {
        Task { await action() }
    }
}
