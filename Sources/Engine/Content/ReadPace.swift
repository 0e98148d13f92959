/// The pace of a reader, without the time for which it waited for bytes.
struct ReadPace {
    private var bytes: UInt64 = 0
    private var time: Duration = .zero

    /// The time after which older reads count less.
    private static let memory: Duration = .seconds(2)
    /// The time from which on the pace is known.
    private static let timeMin: Duration = .milliseconds(100)

    /// Records a read.
    ///
    /// - Parameter elapsed: The time since the read before; zero if the reader waited meanwhile.
    mutating func note(_ bytes: UInt64, after elapsed: Duration) {
        self.bytes += bytes
        time += elapsed
        while time > Self.memory {
            self.bytes /= 2
            time /= 2
        }
    }

    /// Returns how many bytes are read in `duration`; nil if that is not known, as the reader has
    /// waited most of the time.
    func bytes(in duration: Duration) -> UInt64? {
        guard time >= Self.timeMin else { return nil }
        return UInt64(Double(bytes) * (duration / time))
    }
}
