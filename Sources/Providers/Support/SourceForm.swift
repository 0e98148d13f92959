package import Engine

/// One kind of source. See the properties of `Source` with the same names.
package protocol SourceForm: Sendable {
    var description: String { get }
    var identity: String { get }
    var stateName: String { get }
    var localFolder: String? { get }
    var requestsAtFirst: Int { get }
    var takesNotifications: Bool { get }

    func connect(_ world: ProviderEnvironment) async throws(SourceError) -> any Provider

    /// Returns the space for extended attributes in a store of this kind, measured as it encodes them,
    /// or more generously.
    func extendedAttributeSpace(bytesMax: Int) -> ExtendedAttributeSpace
}

extension SourceForm {
    package var localFolder: String? { nil }
    package var requestsAtFirst: Int { 8 }
    package var takesNotifications: Bool { false }

    package func extendedAttributeSpace(bytesMax: Int) -> ExtendedAttributeSpace {
        ExtendedAttributeSpace(bytesMax: bytesMax, bytes: \.byteCount)
    }
}
