import ProviderSupport
import Testing

@Suite struct QuantityTests {
    @Test(
        arguments: [
            ("0", 0), ("1B", 1), ("512K", 524_288), ("512 kib", 524_288), ("1KB", 1_000),
            ("10MiB", 10_485_760), ("1.5G", 1_610_612_736), ("1GB", 1_000_000_000),
            ("20GiB", 21_474_836_480), ("2T", 2_199_023_255_552),
        ] as [(String, UInt64)])
    func `a size is a number and a unit`(text: String, bytes: UInt64) throws {
        #expect(try Quantity.bytes(text) == bytes)
    }

    @Test(arguments: [
        "", "5", "K", "-1K", "1.K", ".5K", "1..5K", "1,5K", "1X", "99999999999T", "1 0K",
    ])
    func `what is no size is refused`(text: String) {
        #expect(throws: QuantityError.self) { try Quantity.bytes(text) }
    }

    @Test(
        arguments: [
            ("0", .zero), ("20ms", .milliseconds(20)), ("1.5s", .milliseconds(1_500)),
            ("2m", .seconds(120)), ("2min", .seconds(120)), ("1h", .seconds(3_600)),
            ("1 D", .seconds(86_400)), ("5us", .microseconds(5)),
        ] as [(String, Duration)])
    func `a time is a number and a unit`(text: String, duration: Duration) throws {
        let found = try Quantity.duration(text)
        let difference = found - duration
        #expect(difference < .nanoseconds(1) && difference > .nanoseconds(-1))
    }

    @Test(arguments: ["", "5", "s", "-1s", "1.s", "1x", "1e3s", "99999999999999d"])
    func `what is no time is refused`(text: String) {
        #expect(throws: QuantityError.self) { try Quantity.duration(text) }
    }
}
