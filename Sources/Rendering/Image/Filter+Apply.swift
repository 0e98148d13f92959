import Filters

extension Filter {
    /// Applies the filter to an image of three bands (red, green and blue, gamma-encoded).
    func apply(to colour: Image) throws(ImageError) -> Image {
        switch self {
        case .sepia(let amount): try colour.recombined(by: .sepia(amount: amount))
        }
    }
}
