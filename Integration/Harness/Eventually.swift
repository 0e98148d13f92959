import Foundation
import Testing

/// Returns as soon as `condition` holds.
///
/// For changes without an event: a state in an extended attribute, a file that appears on the remote.
/// The limit leaves room for a slow machine on which other tests run.
///
/// - Throws: An error that names `what` if the condition does not hold within the limit.
func eventually(
    _ what: String, within limit: Duration = .seconds(60),
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
