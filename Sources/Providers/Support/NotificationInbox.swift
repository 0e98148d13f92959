import Synchronization

/// Passes notifications that a store sends to this machine on to the provider of the source.
package final class NotificationInbox: Sendable {
    /// Takes the body of one notification, and returns the number of changes in it that concern the
    /// source. Does not block.
    package typealias Receiver = @Sendable (_ body: [UInt8]) throws(NotificationError) -> Int

    private let receiver = Mutex<Receiver?>(nil)

    package init() {}

    /// Sets the receiver of all notifications from then on.
    package func open(_ receive: @escaping Receiver) {
        receiver.withLock { $0 = receive }
    }

    /// Passes on one notification.
    ///
    /// - Throws: `.notConnected` before the source is open.
    package func deliver(_ body: [UInt8]) throws(NotificationError) -> Int {
        guard let receive = receiver.withLock({ $0 }) else { throw .notConnected }
        return try receive(body)
    }
}

/// Reason why a notification was not taken.
package enum NotificationError: Error, Hashable {
    /// The source is not connected yet: the sender may try again.
    case notConnected
    /// It is in no known form.
    case unknownForm
    /// Someone has to open this address once, so that notifications are sent from then on (Amazon
    /// SNS).
    case needsConfirmation(url: String)
}
