/// Decides when bytes may move, so that they keep to a rate on average. Time is an argument.
///
/// Bytes are taken after they have moved, as their number is known only then: the balance may become
/// negative, and nothing moves until the debt is paid.
package struct TokenBucket: Sendable {
    package let bytesPerSecond: UInt64
    private var balance: Double
    private var updated: Duration

    /// Begins with a full bucket.
    ///
    /// - Parameter bytesPerSecond: Above 0.
    package init(bytesPerSecond: UInt64, at now: Duration) {
        precondition(bytesPerSecond > 0, "a bucket that is never filled")
        self.bytesPerSecond = bytesPerSecond
        balance = Self.capacity(bytesPerSecond)
        updated = now
    }

    /// The bytes that may move at once after a pause: those of a tenth of a second.
    private static func capacity(_ bytesPerSecond: UInt64) -> Double { Double(bytesPerSecond) / 10 }

    package mutating func take(_ bytes: Int, at now: Duration) {
        refill(at: now)
        balance -= Double(bytes)
    }

    /// Returns when bytes may move again: `now`, or later.
    ///
    /// - Parameter debtMax: A debt that does not matter, for bytes that are more urgent than others.
    package mutating func opening(at now: Duration, debtMax: Duration = .zero) -> Duration {
        refill(at: now)
        let missing = 1 - balance - debtMax.inSeconds * Double(bytesPerSecond)
        return missing <= 0 ? now : now + .seconds(missing / Double(bytesPerSecond))
    }

    private mutating func refill(at now: Duration) {
        guard now > updated else { return }
        let fresh = (now - updated).inSeconds * Double(bytesPerSecond)
        balance = min(balance + fresh, Self.capacity(bytesPerSecond))
        updated = now
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
