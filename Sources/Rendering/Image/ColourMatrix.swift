/// A linear map of colours: each row computes red, green or blue from all three.
package struct ColourMatrix: Hashable, Sendable {
    /// Nine coefficients, row by row.
    package let coefficients: [Double]

    /// Returns the matrix of the sepia function for an `amount` from 0 (identity) to 1.
    ///
    /// W3C Filter Effects Module Level 1, section 13.2: linear interpolation between the identity
    /// and full sepia. Shorthand functions apply to gamma-encoded sRGB values.
    package static func sepia(amount: Double) -> ColourMatrix {
        let rest = 1 - amount
        return ColourMatrix(coefficients: [
            0.393 + 0.607 * rest, 0.769 - 0.769 * rest, 0.189 - 0.189 * rest,
            0.349 - 0.349 * rest, 0.686 + 0.314 * rest, 0.168 - 0.168 * rest,
            0.272 - 0.272 * rest, 0.534 - 0.534 * rest, 0.131 + 0.869 * rest,
        ])
    }
}
