import Testing

@testable import apus

/// What `apus bench` says about its measurements.
@Suite
struct `The report of a benchmark` {
    private static let mebibyte: UInt64 = 1 << 20

    private func report(
        up: [Double] = [80, 81, 80], down: [Double] = [90, 91, 90], milliseconds: Double = 100,
        metadata: Double? = nil, written: Double = 500
    ) -> BenchReport {
        func rates(_ values: [Double]) -> [BenchReport.Throughput] {
            zip([1, 4, 16], values).map {
                .init(connections: $0, bytesPerSecond: UInt64($1 * Double(Self.mebibyte)))
            }
        }
        return BenchReport(
            source: "s3://bucket",
            roundTrip: .init(minMilliseconds: 20, medianMilliseconds: 21.26, maxMilliseconds: 48),
            listing: .init(names: 200, milliseconds: milliseconds),
            smallFiles: .init(bytesEach: 10_240, writtenPerSecond: written, readPerSecond: 800),
            metadataPerSecond: metadata, uploads: rates(up), downloads: rates(down))
    }

    @Test func `gives no advice about a fast source`() {
        let fast = report().explained(takesListingsAsMetadata: true)
        #expect(fast.advice == [])
        #expect(fast.lines.contains("  nothing; the defaults suit this source"))
        #expect(fast.expectations.contains("1 GiB arrives in about 11 s"))
        #expect(fast.expectations.contains("1,000 new small files are sent in about 2.0 s"))
    }

    @Test func `recommends a bandwidth of four fifths, and pins, for a slow line`() {
        let slow = report(up: [0.5, 1, 1], down: [1, 2, 2.5]).explained(
            takesListingsAsMetadata: false)
        #expect(slow.advice.count == 2, "\(slow.advice)")
        #expect(slow.advice.contains { $0.hasPrefix("`apus pin FOLDER`") })
        #expect(slow.advice.contains { $0.hasPrefix("`--bandwidth 819KiB:2048KiB`") })
        #expect(slow.expectations.contains { $0.hasPrefix("16 connections are enough") })
        #expect(slow.expectations.contains("1 GiB arrives in about 6 min"))
    }

    @Test func `recommends the metadata of listings only to a store whose source takes that`() {
        let words = "`?metadata=listing`"
        let few = report(metadata: 100)
        #expect(
            few.explained(takesListingsAsMetadata: true).advice.contains { $0.hasPrefix(words) })
        #expect(few.explained(takesListingsAsMetadata: false).advice == [])
        #expect(report(metadata: 9_000).explained(takesListingsAsMetadata: true).advice == [])
    }

    @Test func `tells how to see changes in a folder that takes long to list`() {
        let long = report(milliseconds: 4_000).explained(takesListingsAsMetadata: false)
        #expect(long.advice.count == 1)
        #expect(long.advice[0].contains("takes 4.0 s to list"), "\(long.advice)")
    }

    @Test func `shows each measurement in a line`() {
        let lines = report(metadata: 2_500).explained(takesListingsAsMetadata: true).lines
        #expect(
            lines.prefix(6) == [
                "round trip   21 ms (median; 20 to 48 ms)",
                "listing      200 names in 100 ms",
                "small files  500 a second written, 800 read (10.0 KiB each)",
                "metadata     of 2500 files a second",
                "upload       80.0 MiB/s with 1, 81.0 MiB/s with 4, 80.0 MiB/s with 16 connections",
                "download     90.0 MiB/s with 1, 91.0 MiB/s with 4, 90.0 MiB/s with 16 connections",
            ])
    }

    @Test func `leaves out what was not measured`() {
        var reading = report()
        reading.uploads = []
        reading.smallFiles = nil
        reading.downloads = []
        let lines = reading.explained(takesListingsAsMetadata: true).lines
        #expect(lines.count == 5, "\(lines)")
        #expect(!lines.contains("What to expect:"))
    }
}
