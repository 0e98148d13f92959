import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import SystemCalls
package import Transport
import UnixSignals

/// Serves the page of all mounts on loopback; `docs/web.md` describes it.
package struct WebServer: Sendable {
    private let port: Int
    private let token: PageToken
    private let transport: HTTPTransport
    private let logger: Logger
    private let mounts: @Sendable () throws(ControlError) -> [WebMount]

    /// How long streams may continue after the server is told to stop.
    private static let farewell: Duration = .milliseconds(500)
    /// Files that are read for the page at the same time.
    private static let previewsMax = 4

    /// - Parameters:
    ///   - port: 0 for a free one.
    ///   - mounts: Finds the mounts to show, without blocking; called for every request.
    package init(
        port: Int, token: PageToken, transport: HTTPTransport, logger: Logger,
        mounts: @escaping @Sendable () throws(ControlError) -> [WebMount]
    ) {
        self.port = port
        self.token = token
        self.transport = transport
        self.logger = logger
        self.mounts = mounts
    }

    /// Serves until SIGINT or SIGTERM, or until the calling task is cancelled.
    ///
    /// - Parameter ready: Called once, with the URL, when connections are accepted.
    /// - Throws: `.failed` if the port cannot be used.
    package func run(ready: @escaping @Sendable (String) -> Void) async throws(ControlError) {
        do {
            let pool = try BlockingPool(name: "apus-web", threads: Self.previewsMax)
            // The port, which the page's access depends on, is known once the server listens.
            let routes = LateResponder()
            let application = Application(
                responder: routes,
                configuration: .init(address: .hostname("127.0.0.1", port: port)),
                onServerRunning: { channel in
                    let port = channel.localAddress?.port ?? port
                    routes.set(
                        PageRoutes(
                            access: PageAccess(token: token, port: port),
                            relay: Relay(transport: transport), pool: pool, mounts: mounts
                        ).responder())
                    ready("http://127.0.0.1:\(port)/#\(token.text)")
                },
                logger: logger)
            var configuration = ServiceGroupConfiguration(
                services: [application], gracefulShutdownSignals: [.sigint, .sigterm],
                logger: logger)
            configuration.maximumGracefulShutdownDuration = Self.farewell
            try await ServiceGroup(configuration: configuration).run()
        } catch is CancellationError {
            // Streams were ended after the farewell.
        } catch {
            let number = (error as? IOError)?.errnoCode ?? EIO
            throw ControlError(
                .failed, what: "serve the page on port \(port)",
                why: "\(SystemError(number))".lowercased(),
                remedy: "give another --port, or none for a free one")
        }
    }
}

/// A responder that is set when the server listens.
private final class LateResponder: HTTPResponder {
    private let responder = Mutex<(any HTTPResponder<BasicRequestContext>)?>(nil)

    func set(_ value: any HTTPResponder<BasicRequestContext>) {
        responder.withLock { $0 = value }
    }

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        guard let responder = responder.withLock({ $0 }) else {
            return Response(status: .serviceUnavailable)
        }
        return try await responder.respond(to: request, context: context)
    }
}
