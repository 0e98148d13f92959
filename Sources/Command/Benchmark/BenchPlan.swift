/// How much `apus bench` measures.
struct BenchPlan: Sendable {
    /// The numbers of connections whose throughput is measured.
    var connections: [Int]
    /// How long each of them sends or receives, about.
    var phase: Duration
    /// How many bytes each of them sends or receives at most.
    var phaseBytesMax: UInt64
    /// The size of the file that is read back, at most.
    var fileBytesMax: UInt64
    var smallFilesMax: Int
    /// How long small files are written, and then read, at most.
    var smallFilesTime: Duration
    var probes: Int
    var isReadOnly = false

    static let full = BenchPlan(
        connections: [1, 2, 4, 8, 16], phase: .seconds(4), phaseBytesMax: 96 << 20,
        fileBytesMax: 64 << 20, smallFilesMax: 200, smallFilesTime: .seconds(12), probes: 20)

    static let quick = BenchPlan(
        connections: [1, 4, 16], phase: .seconds(1), phaseBytesMax: 24 << 20,
        fileBytesMax: 16 << 20, smallFilesMax: 50, smallFilesTime: .seconds(3), probes: 8)

    /// One upload of a phase; small enough for 16 of them to be under way within ``phaseBytesMax``.
    static let pieceBytes: ClosedRange<UInt64> = (256 << 10)...(6 << 20)
    static let smallFileBytes: UInt64 = 10 << 10

    /// All bytes that are sent, at most: the last uploads of a phase may begin just below its limit.
    var bytesSentMax: UInt64 {
        guard !isReadOnly else { return 0 }
        let phases = UInt64(connections.count) * (phaseBytesMax + Self.pieceBytes.upperBound)
        return phases + fileBytesMax + UInt64(smallFilesMax) * Self.smallFileBytes
            + Self.pieceBytes.lowerBound
    }
}
