import Testing

@testable import Filters
@testable import Rendering

extension Pictures {
    struct SepiaTests {
        /// Goal: the coefficients are those of the W3C's Filter Effects Module Level 1, 13.2.
        @Test func `full sepia has the specification's matrix`() {
            expectEqual(
                ColourMatrix.sepia(amount: 1).coefficients,
                [0.393, 0.769, 0.189, 0.349, 0.686, 0.168, 0.272, 0.534, 0.131])
        }

        @Test func `no sepia at all changes nothing`() {
            expectEqual(ColourMatrix.sepia(amount: 0).coefficients, [1, 0, 0, 0, 1, 0, 0, 0, 1])
        }

        @Test func `half sepia lies half way between`() {
            expectEqual(
                ColourMatrix.sepia(amount: 0.5).coefficients,
                [0.6965, 0.3845, 0.0945, 0.1745, 0.843, 0.084, 0.136, 0.267, 0.5655])
        }

        /// Goal: pixels given to the encoder are within 2 levels of the specification's result.
        ///
        /// Method: a second computation in plain Swift, for every photo; for large ones, a sample.
        @Test(arguments: [0.0, 0.5, 1.0])
        func `filtered pixels are the specification's`(amount: Double) throws {
            for (name, bytes) in try Samples.wholeImages() {
                let format = try #require(ImageFormat(signature: bytes))
                // Decoding HEIF takes seconds, and its pixels are treated alike.
                if format == .heif { continue }
                let (before, after, bands) = try bytes.withUnsafeBytes { raw in
                    let image = try Image.load(raw, as: format).inMemory()
                    let result = try Picture(image).filtered(by: [.sepia(amount: amount)]).image
                    return (try image.samples(), try result.samples(), image.bands)
                }
                let worst = Reference.worstDifference(
                    from: before, to: after, bands: bands, amount: amount, sampleMax: 255)
                #expect(worst <= 2, "\(name)")
            }
        }

        @Test func `16-bit pixels are filtered with all their bits`() throws {
            let image = try Samples.image(is16Bit: true)
            let result = try Picture(image).filtered(by: [.sepia(amount: 1)]).image
            let worst = Reference.worstDifference(
                from: try image.samples(), to: try result.samples(), bands: 3, amount: 1,
                sampleMax: 65_535)
            #expect(worst <= 2)
        }

        @Test func `a grey image becomes sepia, not grey`() throws {
            let image = try Samples.image(bands: 1)
            let result = try Picture(image).filtered(by: [.sepia(amount: 1)]).image
            let grey = try image.samples()
            let tripled = grey.flatMap { [$0, $0, $0] }
            #expect(result.bands == 3)
            let worst = Reference.worstDifference(
                from: tripled, to: try result.samples(), bands: 3, amount: 1, sampleMax: 255)
            #expect(worst <= 2)
        }

        @Test func `unknown, empty and exaggerated filters are refused`() {
            #expect(throws: FilterError.noName) { try Filter.pipeline(named: "", amount: 1) }
            #expect(throws: FilterError.unknownName("blur")) {
                try Filter.pipeline(named: "sepia,blur", amount: 1)
            }
            #expect(throws: FilterError.amountOutOfRange(1.5)) {
                try Filter.pipeline(named: "sepia", amount: 1.5)
            }
        }

        private func expectEqual(_ left: [Double], _ right: [Double]) {
            #expect(left.count == right.count)
            for (left, right) in zip(left, right) { #expect(abs(left - right) < 1e-12) }
        }
    }
}

/// The specification's sepia function, in plain Swift.
enum Reference {
    /// The mean difference of the colour samples from the full sepia of `before`, 8 bits each.
    static func meanDifference(from before: [UInt16], to after: [UInt16]) -> Double {
        guard before.count == after.count else { return .infinity }
        let matrix = [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]]
        var sum = 0.0
        for start in stride(from: 0, to: before.count, by: 3) {
            for (band, row) in matrix.enumerated() {
                let level = zip(row, before[start...]).reduce(0) { $0 + $1.0 * Double($1.1) }
                sum += abs(min(level, 255) - Double(after[start + band]))
            }
        }
        return sum / Double(before.count)
    }

    /// The greatest difference of any colour sample from its expected value, or of any alpha sample
    /// from its old one.
    static func worstDifference(
        from before: [UInt16], to after: [UInt16], bands: Int, amount: Double, sampleMax: Double
    ) -> Double {
        guard before.count == after.count else { return .infinity }
        let rest = 1 - amount
        var worst = 0.0
        // A prime, so that the sample covers all columns of a large image.
        let step = before.count > 3_000_000 ? 23 : 1
        for start in stride(from: 0, to: before.count, by: bands * step) {
            let red = Double(before[start])
            let green = Double(before[start + 1])
            let blue = Double(before[start + 2])
            let expected = [
                (0.393 + 0.607 * rest) * red + (0.769 - 0.769 * rest) * green
                    + (0.189 - 0.189 * rest) * blue,
                (0.349 - 0.349 * rest) * red + (0.686 + 0.314 * rest) * green
                    + (0.168 - 0.168 * rest) * blue,
                (0.272 - 0.272 * rest) * red + (0.534 - 0.534 * rest) * green
                    + (0.131 + 0.869 * rest) * blue,
            ]
            for band in 0..<bands {
                let wanted =
                    band < 3 ? min(max(expected[band], 0), sampleMax) : Double(before[start + band])
                worst = max(worst, abs(Double(after[start + band]) - wanted))
            }
        }
        return worst
    }
}
