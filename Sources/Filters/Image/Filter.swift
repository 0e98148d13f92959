/// One step of what a batch does to the colours of each image.
///
/// A further filter is a further case here, with its name in ``Name`` and its operations in
/// `apply`; nothing else knows which filters there are.
package enum Filter: Hashable, Sendable {
    /// The sepia function of the W3C's Filter Effects Module Level 1: `amount` 0 changes nothing,
    /// 1 is all sepia.
    case sepia(amount: Double)

    /// The names that users give, as they are typed.
    package enum Name: String, CaseIterable, Sendable {
        case sepia
    }

    /// - Parameters:
    ///   - name: One of ``Name``.
    ///   - amount: How much of it, 0 to 1.
    /// - Throws: `.unknownName`, `.amountOutOfRange`.
    package init(name: String, amount: Double) throws(FilterError) {
        guard let name = Name(rawValue: name) else { throw .unknownName(name) }
        guard (0...1).contains(amount) else { throw .amountOutOfRange(amount) }
        switch name {
        case .sepia: self = .sepia(amount: amount)
        }
    }

    /// Reads a list of names, with commas between them, as a pipeline.
    ///
    /// - Throws: `.noName`, and what ``init(name:amount:)`` throws.
    package static func pipeline(
        named list: String, amount: Double
    ) throws(FilterError) -> [Filter] {
        var filters: [Filter] = []
        for name in list.split(separator: ",") {
            filters.append(try Filter(name: String(name), amount: amount))
        }
        guard !filters.isEmpty else { throw .noName }
        return filters
    }

    package var name: Name {
        switch self {
        case .sepia: .sepia
        }
    }

    /// Makes the filter part of an image of three bands (red, green, blue, gamma-encoded).
    func apply(to colour: Image) throws(ImageError) -> Image {
        switch self {
        case .sepia(let amount): try colour.recombined(by: .sepia(amount: amount))
        }
    }
}

/// Why a filter is not one that there is.
package enum FilterError: Error, Hashable, CustomStringConvertible {
    case noName
    case unknownName(String)
    case amountOutOfRange(Double)

    package var description: String {
        let known = Filter.Name.allCases.map(\.rawValue).joined(separator: ", ")
        return switch self {
        case .noName: "no filter named; known filters: \(known)"
        case .unknownName(let name): "no filter is called \"\(name)\"; known filters: \(known)"
        case .amountOutOfRange(let amount): "amount \(amount) is not between 0 and 1"
        }
    }
}
