import HummingbirdCore
import Logging
import NIOCore

/// Handles connections of the allowed users, and closes others before any of their bytes are read.
struct PeerCheckedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let allowedUsers: Set<UInt32>

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        peer(of: channel).flatMap { peer in
            guard let peer, allowedUsers.contains(peer.user) else {
                logger.warning(
                    "control connection refused",
                    metadata: ["user": "\(peer.map { String($0.user) } ?? "unknown")"])
                return refuse(channel)
            }
            return base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }

    private func peer(of channel: any Channel) -> EventLoopFuture<Peer?> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeSucceededFuture(nil)
        }
        return options.unsafeGetSocketOption(level: .socket, name: Peer.option)
            .map { (peer: Peer) in peer }
            .flatMapErrorThrowing { _ in nil }
    }

    private func refuse(_ channel: any Channel) -> EventLoopFuture<Base.Value> {
        channel.close().flatMapThrowing { throw ChannelError.ioOnClosedChannel }
    }
}

/// The process that connected to a Unix socket, with the fields of Linux's `struct ucred`.
struct Peer: Sendable {
    var process: Int32 = 0
    var user: UInt32 = .max
    var group: UInt32 = .max

    /// `SO_PEERCRED`, see unix(7).
    static let option = NIOBSDSocket.Option(rawValue: 17)
}

extension HTTPServerBuilder {
    /// HTTP/1.1 for peers of these user ids.
    static func peerChecked(allowing users: Set<UInt32>) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            PeerCheckedChannel(base: HTTP1Channel(responder: responder), allowedUsers: users)
        }
    }
}
