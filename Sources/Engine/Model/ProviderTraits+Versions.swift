extension ProviderTraits {
    /// Whether a time says for certain which version it is.
    var hasFineTimes: Bool {
        modifiedResolution.map { $0 <= .microseconds(1) } ?? false
    }

    /// Whether size and time tell a version of ours, however it got there.
    var tellsOwnVersions: Bool { hasFineTimes && storesAttributesAtOnce }
}
