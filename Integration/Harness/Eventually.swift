import Foundation
import Testing

/// Returns as soon as `condition` holds.
///
/// For what sends no event: a state in an extended attribute, a file that appears on the remote.
///
/// - Throws: With `what` if it does not hold within the limit.
func eventually(
    _ what: String, within limit: Duration = .seconds(20),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) throws {
    let clock = ContinuousClock()
    let deadline = clock.now + limit
    while try !condition() {
        try #require(
            clock.now < deadline, "\(what): not within \(limit)", sourceLocation: sourceLocation)
        usleep(10_000)
    }
}
