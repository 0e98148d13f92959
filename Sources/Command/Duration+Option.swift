import ArgumentParser
import Control

extension Duration {
    /// Parses the value of an option.
    ///
    /// - Throws: `ValidationError` if it is not a positive time.
    static func parse(_ text: String) throws -> Duration {
        guard let duration = HumanDuration.parse(text), duration > .zero else {
            throw ValidationError("\"\(text)\" is not a time; write it like 30s or 5m")
        }
        return duration
    }
}
