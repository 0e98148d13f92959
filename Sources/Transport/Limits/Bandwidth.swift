/// How many bytes a second all transfers together may send and receive.
package struct Bandwidth: Hashable, Sendable {
    package static let unlimited = Bandwidth()

    /// The least limit of a direction: with less, requests would run into their deadlines.
    package static let bytesPerSecondMin: UInt64 = 8 << 10

    /// nil for no limit.
    package var up: UInt64?
    /// nil for no limit.
    package var down: UInt64?

    package init(up: UInt64? = nil, down: UInt64? = nil) {
        self.up = up
        self.down = down
    }
}
