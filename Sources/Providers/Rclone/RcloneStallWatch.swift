/// Decides whether an upload has stalled, without clock or I/O: time is an argument.
struct RcloneStallWatch {
    /// The longest time without a byte.
    static let stallMax: Duration = .seconds(30)
    /// The longest time after the last byte, in which the remote may have to assemble the file.
    static let finishMax: Duration = .seconds(600)

    private let size: UInt64
    private(set) var sent: UInt64 = 0
    private var lastProgress: Duration

    init(size: UInt64, at now: Duration) {
        self.size = size
        lastProgress = now
    }

    /// - Parameter bytes: The bytes sent so far; rclone may count some of them twice.
    /// - Returns: Whether ``sent`` has grown.
    mutating func note(_ bytes: UInt64, at now: Duration) -> Bool {
        guard min(bytes, size) > sent else { return false }
        sent = min(bytes, size)
        lastProgress = now
        return true
    }

    func isStalled(at now: Duration) -> Bool {
        now - lastProgress >= (sent < size ? Self.stallMax : Self.finishMax)
    }
}
