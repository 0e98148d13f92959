import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import SystemCalls

/// Takes the notifications of a store, as `POST /notifications`.
///
/// `docs/control-api.md` describes the answers. There is no TLS: over a network, a proxy in front of it
/// has to provide that.
package struct WebhookServer: DaemonServer {
    private let address: WebhookAddress
    private let token: WebhookToken
    private let logger: Logger
    private let deliver: @Sendable ([UInt8]) throws(ControlError) -> Void

    /// The largest message that any of the known senders makes is 256 KiB (Amazon SNS).
    static let bodyBytesMax = 1 << 20
    /// How long requests may continue after the server is told to stop.
    private static let farewell: Duration = .milliseconds(500)

    /// - Parameter deliver: Takes the body of a notification, without blocking.
    package init(
        address: WebhookAddress, token: WebhookToken, logger: Logger,
        deliver: @escaping @Sendable ([UInt8]) throws(ControlError) -> Void
    ) {
        self.address = address
        self.token = token
        self.logger = logger
        self.deliver = deliver
    }

    package func run(ready: @escaping @Sendable () -> Void) async throws(ControlError) {
        var quiet = logger
        if quiet.logLevel == .info { quiet.logLevel = .notice }
        let application = Application(
            responder: responder(),
            configuration: .init(address: .hostname(address.host, port: address.port)),
            onServerRunning: { _ in ready() }, logger: quiet)
        var configuration = ServiceGroupConfiguration(services: [application], logger: quiet)
        configuration.maximumGracefulShutdownDuration = Self.farewell
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch is CancellationError {
            // The daemon ends.
        } catch {
            let number = (error as? IOError)?.errnoCode ?? EIO
            throw ControlError(
                .failed, what: "listen for notifications at \(address)",
                why: "\(SystemError(number))".lowercased(),
                remedy: "give another --webhook address; two mounts cannot have the same")
        }
    }

    func responder() -> some HTTPResponder<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ErrorResponses())
        router.post("notifications") { request, _ in
            guard token.isIn(authorization: request.headers[.authorization]) else {
                // Amazon SNS gives user and password only when it is asked for them.
                return Response(
                    status: .unauthorized,
                    headers: [.wwwAuthenticate: "Basic realm=\"notifications\""])
            }
            let body = try await request.body.collect(upTo: Self.bodyBytesMax)
            try deliver(Array(body.readableBytesView))
            return Response(status: .noContent)
        }
        return router.buildResponder()
    }
}
