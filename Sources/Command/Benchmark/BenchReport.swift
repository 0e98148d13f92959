/// The measurements of `apus bench`.
struct BenchReport: Codable, Equatable {
    struct RoundTrip: Codable, Equatable {
        var minMilliseconds: Double
        var medianMilliseconds: Double
        var maxMilliseconds: Double
    }

    /// How many files of a size were written and read back in a second, several at a time.
    struct SmallFiles: Codable, Equatable {
        var bytesEach: UInt64
        var writtenPerSecond: Double
        var readPerSecond: Double
    }

    /// The first listing of a folder.
    struct Listing: Codable, Equatable {
        var names: Int
        var milliseconds: Double
    }

    struct Throughput: Codable, Equatable {
        var connections: Int
        var bytesPerSecond: UInt64
    }

    var source: String
    var roundTrip: RoundTrip
    var listing: Listing
    /// Only if uploads were allowed.
    var smallFiles: SmallFiles?
    /// For how many files a second the metadata were fetched that listings of this store lack; nil if they
    /// lack none, or are enough.
    var metadataPerSecond: Double?
    /// By ascending numbers of connections; empty if uploads were not allowed.
    var uploads: [Throughput] = []
    /// The same; empty without a file that was large enough.
    var downloads: [Throughput] = []
    /// Sentences: what these numbers mean in use.
    var expectations: [String] = []
    /// Sentences with options and commands that would help.
    var advice: [String] = []
}

extension [BenchReport.Throughput] {
    var best: UInt64? { map(\.bytesPerSecond).max() }

    /// The smallest number of connections that makes nearly full use of the line.
    var connectionsNeeded: Int? {
        guard let best else { return nil }
        return first { Double($0.bytesPerSecond) >= 0.9 * Double(best) }?.connections
    }
}
