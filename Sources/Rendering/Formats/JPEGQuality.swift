/// Estimates libjpeg's quality setting from quantisation tables.
enum JPEGQuality {
    /// Returns the quality, 1 to 100, at which libjpeg's tables are nearest to `tables`.
    ///
    /// Cameras use their own tables, so only the sums are compared, of luminance and of chrominance.
    ///
    /// - Parameter tables: Payloads of quantisation segments (ITU-T T.81, B.2.4.1).
    /// - Returns: nil if there is no table.
    static func nearest(tables segments: [[UInt8]]) -> Int? {
        var sums: [Int: Int] = [:]
        for segment in segments { collect(segment, into: &sums) }
        guard let luminance = sums[0] ?? sums.values.first else { return nil }
        func distance(_ quality: Int) -> Double {
            var result = ratio(luminance, sum(of: standardLuminance, at: quality))
            if let chrominance = sums[1] {
                result += ratio(chrominance, sum(of: standardChrominance, at: quality))
            }
            return result
        }
        // The highest of equals: some bytes more are better than some quality less.
        return (1...100).reversed().min { distance($0) < distance($1) }
    }

    /// The relative difference of two sums.
    private static func ratio(_ left: Int, _ right: Int) -> Double {
        Double(max(left, right)) / Double(max(min(left, right), 1)) - 1
    }

    /// Sums up the entries of each table in a segment, by the table's number.
    private static func collect(_ segment: [UInt8], into sums: inout [Int: Int]) {
        var rest = segment[...]
        while let kind = rest.popFirst() {
            let entryBytes = kind >> 4 == 0 ? 1 : 2
            guard rest.count >= 64 * entryBytes else { return }
            let table = rest.prefix(64 * entryBytes)
            rest = rest.dropFirst(64 * entryBytes)
            var sum = 0
            for (index, byte) in table.enumerated() {
                sum += Int(byte) << (entryBytes == 2 && index.isMultiple(of: 2) ? 8 : 0)
            }
            sums[Int(kind & 15)] = sum
        }
    }

    /// The sum of a standard table's entries after libjpeg has scaled them.
    private static func sum(of table: [Int], at quality: Int) -> Int {
        let percent = quality < 50 ? 5000 / quality : 200 - 2 * quality
        return table.reduce(0) { $0 + min(max(($1 * percent + 50) / 100, 1), 255) }
    }

    /// ITU-T T.81, table K.1.
    private static let standardLuminance = [
        16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
        14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
        18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
        49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
    ]

    /// ITU-T T.81, table K.2, in any order, because only the sum is used.
    private static let standardChrominance =
        [17, 18, 24, 47, 18, 21, 26, 66, 24, 26, 56, 99, 47, 66, 99, 99]
        + [Int](repeating: 99, count: 48)
}
