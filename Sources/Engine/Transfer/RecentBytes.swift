/// Counts the bytes that moved in each of the last seconds. Has no clock: time is an argument.
struct RecentBytes: Sendable {
    /// The time over which a rate is the average, if bytes moved for that long.
    static let window: Duration = .seconds(5)

    private var seconds: [(second: Int64, bytes: UInt64)] = []
    /// The first bytes after a window without any.
    private var begin: Duration = .zero

    /// - Returns: Whether they are the first ones in this second.
    @discardableResult
    mutating func note(_ bytes: UInt64, at now: Duration) -> Bool {
        if trimmed(at: now).isEmpty { begin = now }
        seconds = Array(trimmed(at: now))
        if seconds.last?.second == now.components.seconds {
            seconds[seconds.count - 1].bytes += bytes
            return false
        }
        seconds.append((now.components.seconds, bytes))
        return true
    }

    /// Returns the bytes a second during the last window.
    func perSecond(at now: Duration) -> UInt64 {
        let bytes = trimmed(at: now).reduce(0) { $0 + $1.bytes }
        let span = min(max(now - begin, .seconds(1)), Self.window)
        return bytes * 1_000 / UInt64(span / .milliseconds(1))
    }

    /// Returns the seconds of the window, the current one included.
    private func trimmed(at now: Duration) -> ArraySlice<(second: Int64, bytes: UInt64)> {
        let first = now.components.seconds - Self.window.components.seconds + 1
        return seconds.drop { $0.second < first }
    }
}
