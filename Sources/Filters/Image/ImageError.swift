/// Why an image could not be filtered. The file is then as it was.
package struct ImageError: Error, Hashable {
    package enum Kind: Hashable, Sendable {
        /// Its data do not decode without errors.
        case damaged
        /// It is whole, but of a kind that would lose something if it were written back.
        case unsupported
        /// This machine's libraries cannot write the format.
        case encoderMissing
        /// libvips gave up for another reason.
        case failed
    }

    package let kind: Kind
    /// What is wrong, for the user, in one line.
    package let reason: String

    /// Kind and reason in one line.
    package var message: String {
        switch kind {
        case .damaged: "damaged, left as it was (\(reason))"
        case .unsupported: "not supported, left as it was: \(reason)"
        case .encoderMissing, .failed: reason
        }
    }

    package init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
