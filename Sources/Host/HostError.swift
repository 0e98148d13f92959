/// A failure to get from this machine something that the program needs to start.
package struct HostError: Error, CustomStringConvertible {
    /// The attempt, with its values: `use the state directory "/var/lib/apus/photos"`.
    package let attempt: String
    package let reason: String
    /// Advice for the user.
    package let remedy: String

    package init(attempt: String, reason: String, remedy: String) {
        self.attempt = attempt
        self.reason = reason
        self.remedy = remedy
    }

    /// One line for the user.
    package var description: String { "cannot \(attempt): \(reason); \(remedy)" }
}
