/// The fault rates of a simulated store, each from 0 (never) to 1 (always).
package struct SimulatedProviderFaults: Sendable {
    /// A call fails as unreachable and nothing has happened.
    package var unreachableBefore = 0.0
    /// A change is made, and its answer lost: the call fails as unreachable.
    package var unreachableAfter = 0.0
    /// The store asks to be left alone, and nothing has happened.
    package var busy = 0.0
    /// A read hands over damaged bytes, and fails as corrupt at its end.
    package var damagedRead = 0.0
    /// A read hands over only a part of its bytes, and fails as corrupt.
    package var shortRead = 0.0
    /// A listing shows the directory as at the listing before.
    package var staleListing = 0.0

    /// Names one of them.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case unreachableBefore, unreachableAfter, busy, damagedRead, shortRead, staleListing
    }

    package init() {}

    /// One kind alone.
    package init(_ kind: Kind, _ probability: Double) {
        switch kind {
        case .unreachableBefore: unreachableBefore = probability
        case .unreachableAfter: unreachableAfter = probability
        case .busy: busy = probability
        case .damagedRead: damagedRead = probability
        case .shortRead: shortRead = probability
        case .staleListing: staleListing = probability
        }
    }

    /// Whether anything can fail at all.
    package var isAny: Bool {
        [unreachableBefore, unreachableAfter, busy, damagedRead, shortRead, staleListing]
            .contains { $0 > 0 }
    }

    /// Everything now and then, at one rate.
    package static func all(_ probability: Double) -> SimulatedProviderFaults {
        var faults = SimulatedProviderFaults()
        faults.unreachableBefore = probability
        faults.unreachableAfter = probability
        faults.busy = probability
        faults.damagedRead = probability
        faults.shortRead = probability
        faults.staleListing = probability
        return faults
    }
}
