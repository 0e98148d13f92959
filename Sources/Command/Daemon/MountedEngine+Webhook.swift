import Control
import Logging
import ProviderSupport

extension MountedEngine {
    /// The server for the notifications of the store; nil if none are expected.
    var webhook: WebhookServer? {
        guard let webhook = options.webhook, let notifications else { return nil }
        let logger = logger
        return WebhookServer(address: webhook.address, token: webhook.token, logger: logger) {
            body throws(ControlError) in
            do throws(NotificationError) {
                let count = try notifications.deliver(body)
                logger.debug("notification", metadata: ["changes": "\(count)"])
            } catch {
                try Self.answer(error, logger)
            }
        }
    }

    private static func answer(
        _ error: NotificationError, _ logger: Logger
    ) throws(ControlError) {
        let what = "take the notification"
        switch error {
        case .needsConfirmation(let url):
            // It is not opened here: any holder of the token could have this machine open any address.
            logger.notice(
                "Amazon SNS sends notifications once its subscription is confirmed: open this address",
                metadata: ["url": "\(url)"])
        case .unknownForm:
            logger.warning("a notification has no known form")
            throw ControlError(
                .invalid, what: what,
                why: "it is no event message of S3, SNS, EventBridge or SeaweedFS")
        case .notConnected:
            throw ControlError(
                .unreachable, what: what, why: "the source is not connected yet",
                remedy: "send it again later")
        }
    }
}
