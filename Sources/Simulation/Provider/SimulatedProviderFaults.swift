/// The fault rates of a simulated store, each from 0 (never) to 1 (always).
package struct SimulatedProviderFaults: Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A call fails as unreachable and nothing has happened.
        case unreachableBefore
        /// A change is made, and its answer lost: the call fails as unreachable.
        case unreachableAfter
        /// A file is changed or an item moved, the answer lost, and the request repeated on another connection, as
        /// HTTP clients do: the store may refuse it, as it is done already.
        case repeated
        /// The store asks to be left alone, and nothing has happened.
        case busy
        /// A read hands over damaged bytes, and fails as corrupt at its end.
        case damagedRead
        /// A read hands over only a part of its bytes, and fails as corrupt.
        case shortRead
        /// A listing shows the directory as at the listing before.
        case staleListing

        /// Those of the steps of a program. Requests are repeated in all of its run or never, see
        /// ``FaultPlan/repeatsRequests``.
        static let ofSteps = allCases.filter { $0 != .repeated }
    }

    private var rates: [Kind: Double] = [:]

    package init() {}

    /// One kind alone.
    package init(_ kind: Kind, _ rate: Double) {
        rates = [kind: rate]
    }

    /// All those of steps, at one rate.
    package static func all(_ rate: Double) -> SimulatedProviderFaults {
        var faults = SimulatedProviderFaults()
        for kind in Kind.ofSteps { faults[kind] = rate }
        return faults
    }

    subscript(kind: Kind) -> Double {
        get { rates[kind, default: 0] }
        set { rates[kind] = newValue }
    }

    /// Whether anything can fail at all.
    var isAny: Bool { rates.values.contains { $0 > 0 } }
}
