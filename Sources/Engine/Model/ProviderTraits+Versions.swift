extension ProviderTraits {
    /// Whether a modification time identifies a version with certainty.
    var hasFineTimes: Bool {
        modifiedResolution.map { $0 <= .microseconds(1) } ?? false
    }

    /// Whether size and time identify a version that we wrote, however it got there.
    var tellsOwnVersions: Bool { hasFineTimes && storesAttributesAtOnce }
}
