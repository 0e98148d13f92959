/// A change to the colours of an image.
///
/// To add a filter, add a case, its name in ``Name`` and its operations in `apply(to:)` of `Rendering`.
package enum Filter: Hashable, Sendable, Codable {
    /// The sepia function of the W3C's Filter Effects Module Level 1, for an `amount` from 0 (no
    /// change) to 1.
    case sepia(amount: Double)

    /// The names in the command line.
    package enum Name: String, CaseIterable, Sendable {
        case sepia
    }

    /// - Parameters:
    ///   - name: One of ``Name``.
    ///   - amount: The strength, 0 to 1.
    /// - Throws: `.unknownName`, `.amountOutOfRange`.
    package init(name: String, amount: Double) throws(FilterError) {
        guard let name = Name(rawValue: name) else { throw .unknownName(name) }
        guard (0...1).contains(amount) else { throw .amountOutOfRange(amount) }
        switch name {
        case .sepia: self = .sepia(amount: amount)
        }
    }

    /// Parses a comma-separated list of names.
    ///
    /// - Throws: `.noName`, and the errors of ``init(name:amount:)``.
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
}

/// The reason a filter is invalid.
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
