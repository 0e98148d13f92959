import Testing
import Transport

@testable import Control

@Suite struct `A bandwidth` {
    @Test(arguments: [
        ("off", Bandwidth.unlimited, "off", "not limited"),
        (
            "1MiB:10MiB", .init(up: 1 << 20, down: 10 << 20), "1048576:10485760",
            "at most 1.0 MiB/s up and 10.0 MiB/s down"
        ),
        (":2M", .init(down: 2 << 20), ":2097152", "at most 2.0 MiB/s down"),
        ("512k:", .init(up: 512 << 10), "524288:", "at most 512 KiB/s up"),
        ("512k:off", .init(up: 512 << 10), "524288:", "at most 512 KiB/s up"),
    ])
    func `is read and written`(
        text: String, bandwidth: Bandwidth, exact: String, phrase: String
    ) throws {
        #expect(try Bandwidth(parsing: text) == bandwidth)
        #expect(bandwidth.text == exact && bandwidth.phrase == phrase)
        #expect(try Bandwidth(parsing: exact) == bandwidth)
    }

    @Test(arguments: ["", ":", "1MiB", "x:y", "1MiB:2MiB:3MiB", "0:1MiB", "1B:", "-1:", "fast"])
    func `that is none is refused with what to write`(text: String) {
        let error = #expect(throws: BandwidthError.self) { try Bandwidth(parsing: text) }
        let words = ["write", "give at least"]
        #expect(words.contains { error?.description.contains($0) == true })
    }
}
