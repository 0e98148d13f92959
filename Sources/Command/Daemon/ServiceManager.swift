import Foundation
import SystemCalls

/// Reports to the service manager that has started this process, such as systemd. Without one, they have no
/// effect.
struct ServiceManager: Sendable {
    /// How long a mount goes on with uploads after the manager has ended it, unless it has an option: less
    /// than systemd's usual `TimeoutStopSec`.
    static let stopTimeout: Duration = .seconds(80)
    /// The time that a stop may take after the last report of progress.
    private static let grace: Duration = .seconds(30)

    private let socket: NotifySocket?

    /// Takes the socket from the environment, so that no helper program inherits it.
    ///
    /// - Parameter isOurs: Whether the manager waits for this process, not for one that has started it.
    static func takenFromEnvironment(isOurs: Bool) -> ServiceManager {
        let address = getenv(NotifySocket.variable).map { String(cString: $0) }
        unsetenv(NotifySocket.variable)
        return ServiceManager(socket: isOurs ? address.flatMap(NotifySocket.init(address:)) : nil)
    }

    var isPresent: Bool { socket != nil }

    func ready() { socket?.send(["READY=1"]) }

    func status(_ text: String) { socket?.send([Self.status(text)]) }

    /// Reports that the process ends, or goes on ending.
    ///
    /// - Parameter text: The status.
    func stopping(_ text: String) {
        let microseconds = Int(Self.grace / .microseconds(1))
        socket?.send(["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(microseconds)", Self.status(text)])
    }

    private static func status(_ text: String) -> String {
        "STATUS=" + text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
